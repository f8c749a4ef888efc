"""Scenarios of a scripted model on real engines, with the verdict that the contract demands for each."""
