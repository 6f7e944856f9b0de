"""A hook of a lift: `node_hook.py PORT HOOK` asks the test to run it for the node that LIFT_NODE_ID names."""

import os
import socket
import sys


def main() -> int:
    port, hook = sys.argv[1:]
    with socket.create_connection(("127.0.0.1", int(port))) as server:
        server.sendall(f"{hook} {os.environ['LIFT_NODE_ID']}\n".encode())
        answer = server.makefile().read()
    if answer:
        print(answer, file=sys.stderr)  # noqa: T201 - the hook's output
    return 1 if answer else 0


if __name__ == "__main__":
    sys.exit(main())
