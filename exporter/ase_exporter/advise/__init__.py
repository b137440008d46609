"""From hot spinlocks to what eases them: live counters and configuration in, statements with arithmetic out.

evidence = gather(connection, seconds=30)       # two readings of a server (evidence.py)
advice = advise(evidence)                       # findings, ranked (advice.py), after remedies.yaml
print(markdown(advice))                         # report.py
"""
