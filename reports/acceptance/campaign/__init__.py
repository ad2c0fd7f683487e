"""The folder of an acceptance run: contract, attempts, chain of measurements, raw answers and signatures."""
