"""The parts of `runcard run`: finding the command, starting it, passing on what it prints and the signals it gets."""
