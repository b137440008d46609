"""Runs a command that would not end: until it says that it listens, then ends it as a person would.

python until_ready.py COMMAND…: exit code 0 if it came so far and ended well.
"""

import signal
import subprocess
import sys

with subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as process:
    assert process.stdout is not None
    for line in process.stdout:
        print(line, end="")
        if "listen" in line:
            process.send_signal(signal.SIGTERM)
            process.stdout.read()
            break
    else:
        sys.exit("it ended before it listened")
sys.exit(process.returncode)
