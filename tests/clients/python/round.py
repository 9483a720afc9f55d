"""One client of the client matrix, taken through one round by a Python library.

python3 round.py --client ID (--url URL | --command JSON)
  --client   py-mcp1, py-mcp2-legacy, py-mcp2-auto, py-fastmcp-legacy or py-fastmcp-auto
  --command  a program and its arguments as a JSON array, to be talked to over stdio

Owns which library runs in which environment, and the round's time limit. Prints one JSON object a line: what the client is, then each
step as it ends, in the order of `steps.STEPS`. Exits with 0 unless the driver itself broke.

The releases of the SDK before and after 2.0 cannot live in one environment, so this starts itself again in the one it needs; it stays the
same process, so whoever started it still talks to the one that plays the client.
"""

import argparse
import asyncio
import importlib
import json
import os
import sys
from pathlib import Path

# This folder is part of a checkout: nothing is written into it.
sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
# Client: environment, adapter, and what the adapter is told of the era.
CLIENTS = {
    "py-mcp1": ("mcp1", "mcp1", "legacy"),
    "py-mcp2-legacy": ("mcp2", "mcp2", "legacy"),
    "py-mcp2-auto": ("mcp2", "mcp2", "auto"),
    "py-fastmcp-legacy": ("mcp2", "fastmcp", "legacy"),
    "py-fastmcp-auto": ("mcp2", "fastmcp", "auto"),
}


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", required=True, choices=CLIENTS)
    server = parser.add_mutually_exclusive_group(required=True)
    server.add_argument("--url")
    server.add_argument("--command", type=json.loads)
    return parser.parse_args()


def enter(environment):
    """Goes on in the environment's Python, unless this is it."""
    prefix = HERE / environment / ".venv"
    if Path(sys.prefix).resolve() == prefix.resolve():
        return
    python = prefix / "bin/python"
    if not python.exists():
        sys.exit(f"{python} is missing: run `cargo xtask clients`")
    os.execv(python, [str(python), str(HERE / "round.py"), *sys.argv[1:]])


def main():
    args = arguments()
    environment, adapter, era = CLIENTS[args.client]
    enter(environment)
    import steps

    asyncio.run(steps.play(importlib.import_module(f"adapters.{adapter}"), era, args.url, args.command))
    # Something of a client that would not end must not keep the process: all that counts is said.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
