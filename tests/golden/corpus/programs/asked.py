"""`asked`: what the model of this scene was asked since the last time, a line for each message."""

from __future__ import annotations

import json
import os
from urllib.request import urlopen

with urlopen(os.environ["MODEL"].removesuffix("/v1") + "/asked") as answer:  # noqa: S310 - the server of the corpus
    for one in json.load(answer):
        head = {key: value for key, value in one.items() if key != "messages"}
        print(json.dumps(head, ensure_ascii=False))
        for message in one["messages"]:
            print(f"{message['role']}:")
            print(message["content"])
