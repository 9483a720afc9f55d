"""A client under `wharf lab`: a full round with its one resource, or as much of one as is asked for.

python3 lab.py --client ID (--url URL | --command JSON) --do round|list

Shares the environments and the adapters of round.py. Prints what is playing, as that does. Exits with 0 if it could do what was asked for.
"""

import argparse
import asyncio
import importlib
import importlib.metadata
import json
import os
import sys

# This folder is part of a checkout: nothing is written into it.
sys.dont_write_bytecode = True

import round as driver  # noqa: E402

STATUS = "test://review/status"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--client", required=True, choices=driver.CLIENTS)
    parser.add_argument("--url")
    parser.add_argument("--command", type=json.loads)
    parser.add_argument("--do", choices=["round", "list"], required=True)
    return parser.parse_args()


async def play(connection, whole):
    await connection.open()
    ask = connection.ask
    assert await ask(connection.everything()) == [STATUS]
    if whole:
        before = json.loads(await ask(connection.read(STATUS)))["version"]
        await ask(connection.watch([STATUS]))
        await connection.told.until(lambda told: told.updates[STATUS] > 0, "an update")
        assert json.loads(await ask(connection.read(STATUS)))["version"] > before
        await ask(connection.unwatch([STATUS]))
    await connection.close()


def main():
    args = arguments()
    environment, adapter, era = driver.CLIENTS[args.client]
    driver.enter(environment, "lab.py")
    module = importlib.import_module(f"adapters.{adapter}")
    print(json.dumps({"client": module.PACKAGE, "version": importlib.metadata.version(module.PACKAGE)}), flush=True)
    connection = module.connection(era, args.url, args.command)
    asyncio.run(play(connection, args.do == "round"))
    # Something of a client that would not end must not keep the process.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
