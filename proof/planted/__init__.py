"""Faults planted in the product on purpose: chaos must go red for each, by the law it is meant for."""
