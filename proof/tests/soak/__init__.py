"""Tests of the soak: what counts as a leak, what retention may do, how figures are read and shown."""
