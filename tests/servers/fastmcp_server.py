"""A server of FastMCP (packages of tests/clients/python/mcp2) with one resource and one template.

python3 fastmcp_server.py stdio | http      http: prints the URL
"""

import os
import socket
import sys
from pathlib import Path

sys.dont_write_bytecode = True
PREFIX = Path(__file__).resolve().parent.parent / "clients/python/mcp2/.venv"


def enter():
    if Path(sys.prefix).resolve() != PREFIX.resolve():
        python = PREFIX / "bin/python"
        if not python.exists():
            sys.exit(f"{python} is missing: run `cargo xtask clients`")
        os.execv(python, [str(python), str(Path(__file__).resolve()), *sys.argv[1:]])


def main():
    enter()
    from fastmcp import FastMCP

    server = FastMCP("fastmcp")

    @server.resource("test://fastmcp/status")
    def status() -> str:
        return "pending"

    @server.resource("test://fastmcp/item/{name}")
    def item(name: str) -> str:
        return name

    if sys.argv[1] == "stdio":
        server.run(show_banner=False)
        return
    import uvicorn

    # It listens before it says so: whoever connects then waits in the queue.
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    listening.listen()
    print(f"http://127.0.0.1:{listening.getsockname()[1]}/mcp", flush=True)
    uvicorn.Server(uvicorn.Config(server.http_app(), log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
