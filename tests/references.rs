//! What is generated, written down or linked by name is what the program has.
