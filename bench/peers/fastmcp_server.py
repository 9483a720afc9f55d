"""What `cargo xtask bench` measures the host against: a server of Python's FastMCP, of both eras, with JSON answers in each.

python fastmcp_server.py FOLDER      serves FOLDER/NAME.txt as texts://NAME, and lists as many more as FOLDER/page.list has. Prints where it
listens.
"""

import json
import socket
import sys
from pathlib import Path

import uvicorn
from fastmcp import FastMCP
from fastmcp.resources import TextResource

folder = Path(sys.argv[1])
server = FastMCP("fastmcp")
for file in folder.glob("*.txt"):
    uri = f"texts://{file.stem}"
    server.add_resource(TextResource(uri=uri, name=file.stem, mime_type="text/plain", text=file.read_text(encoding="utf-8")))
for listed in json.loads((folder / "page.list").read_text(encoding="utf-8"))["resources"]:
    server.add_resource(
        TextResource(uri=listed["uri"], name=listed["name"], description=listed.get("description"), mime_type="text/plain", text="")
    )

listener = socket.socket()
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
listener.bind(("127.0.0.1", 0))
listener.listen(1024)
print(f"listening 127.0.0.1:{listener.getsockname()[1]}", flush=True)
app = server.http_app(json_response=True)
uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False)).run(sockets=[listener])
