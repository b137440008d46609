"""Builds outside the checkout: setuptools would leave directories in it, and pack what an earlier build left there."""

import atexit
import shutil
import tempfile

from setuptools import setup

work = tempfile.mkdtemp()
atexit.register(shutil.rmtree, work, ignore_errors=True)
setup(options={"build": {"build_base": work}, "egg_info": {"egg_base": work}})
