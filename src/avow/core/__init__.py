"""The judge: values, tables and pure functions over the standard library.

Nothing here reads a file, a clock, the environment or a random source, and nothing here logs or
waits: time and entropy arrive as arguments. The same code runs in the server, on the command line
and in the browser.
"""
