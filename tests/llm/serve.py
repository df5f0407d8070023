"""
llama.cpp's server from the package xllamacpp, on loopback, until it is ended: python serve.py FILE.gguf PORT [CONTEXT [THREADS]].

It has one slot, and two threads unless it is told another number, as on a small machine. It runs in an environment of its own, which script/test-llm makes.
"""

import os
import signal
import sys
from importlib import import_module

# read when the library is loaded: with other work beside, threads that spin would write five times slower
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
os.environ.setdefault("GOMP_SPINCOUNT", "0")


def main(model: str, port: str, context: str = "8192", threads: str = "2") -> None:
    llama = import_module("xllamacpp")
    params = llama.CommonParams()
    params.model.path, params.n_ctx, params.n_parallel = model, int(context), 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(threads)
    params.hostnames, params.port = ["127.0.0.1"], int(port)
    params.fit_params = False  # the context is what is asked for
    try:
        server = llama.Server(params)
    except RuntimeError:
        sys.exit(f"recalld: the server did not start: {model} is no model that llama.cpp reads, or port {port} is taken")
    print(f"listening at {server.listening_address}/v1", flush=True)
    signal.sigwait({signal.SIGINT, signal.SIGTERM})
    os._exit(0)  # its threads do not end by themselves


if __name__ == "__main__":
    main(*sys.argv[1:])
