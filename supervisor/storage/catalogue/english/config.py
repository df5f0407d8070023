"""What is wrong with the configuration."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "order": "{smaller} is more than {larger}, which is {value}; lower it or raise that",
    "bad_key": "the key found there has characters that no key has; check what was pasted",
    "network_disk": "{path} is on {kind}, where locks may not work; move it to a disk of this machine, or set this to true",
    "leads_out": "it leads to {path}, outside the workspace; make it a folder in the workspace, or move the whole workspace",
    "little_memory": "it leaves too little memory for {path}; raise it, or set it to unlimited",
    "section_planned": "this section is planned and not there yet; take it out, since nothing comes of it",
    "upstream_is_ours": "this is the address of recalld itself (`serve.host`, `serve.port`); give that of the model server",
    "key_planned": "this key is planned and not there yet; take it out, since nothing comes of it",
    "gone": "it is gone; put it back, or start the supervisor again to use the defaults",
    "no_key": "there is no such key{meant}",
    "no_section": "there is no such section{meant}",
    "no_variable": "no setting has this variable{meant}",
    "perhaps": "; perhaps {near} is meant",
    "see_list": "; docs/reference/configuration.md lists what there is",
    "not_utf8": "it is not UTF-8, from byte {at} on; save it as UTF-8",
    "nested": "it is nested too deeply; docs/reference/configuration.md lists the sections and keys",
    "not_toml": "it is not valid TOML ({what}); correct it",
    "not_toml_at_end": "it is not valid TOML at its end ({what}); correct it there",
    "not_toml_at": "it is not valid TOML at line {line}, column {column} ({what}); correct it there",
    "section_twice": "{section} in line {line} is there for the second time; put the keys of both below the first",
    "key_twice": "{key} in line {line} is set for the second time; keep one of the two",
    "value_for_section": "{value} is given, but this is a section; write [{name}] and its keys below it",
    "hybrid_needs": '"hybrid" needs embeddings.base_url and embeddings.model; "bm25" is used',
    "no_backend": 'no installed package brings a model {name!r} (entry point recalld.embedders); "bm25" is used',
    "backend_failed": '{name!r} could not be made ({kind}); "bm25" is used',
    "not_yaml": "it is not plain YAML in UTF-8; correct it, or delete it for the defaults",
    "no_memory_section": "it has no section `memory`; add it, or delete the file for the defaults",
    "unknown_memory_key": "memory.{key} is not known; it has token_limit and summarize_prompt",
    "persistence": "memory.persistence is reserved; delete it, and give build_chat_memory a chat_store",
    "prompt_no_text": "memory.summarize_prompt is no text; put it in quotes, or delete it for the default",
    "token_limit": "token_limit is {limit!r}, and must be a whole number of 1 or more",
}
