"""Start a command as a child process: find the program, pass on its output and its signals, give it a terminal."""
