"""Reads the files of a data folder by itself and checks what skillrun promises."""
