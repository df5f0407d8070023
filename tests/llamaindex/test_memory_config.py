"""configs/memory.yaml: 002's keys, and what is refused. It needs no LlamaIndex."""

import pytest

from recalld.supervisor.interfaces.llamaindex import load_memory_config
from recalld.supervisor.storage.errors import BadConfig

OF_002 = """\
memory:
  # Token 限制
  token_limit: 64000

  # 摘要提示词（可选，使用默认值时可省略）
  summarize_prompt: |
    请总结以下对话的关键信息，保留重要的上下文和结论。

  # 持久化配置（预留，当前不启用）
  # persistence:
  #   enabled: false
  #   backend: redis
  #   connection_string: redis://localhost:6379
"""


def written(folder, text):
    path = folder / "memory.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.feature("002.3", "002.4")
def test_load_memory_config_reads_the_file_of_002_from_its_place(tmp_path, monkeypatch):
    (tmp_path / "configs").mkdir()
    written(tmp_path / "configs", OF_002)
    monkeypatch.chdir(tmp_path)

    assert load_memory_config() == {
        "token_limit": 64000,
        "summarize_prompt": "请总结以下对话的关键信息，保留重要的上下文和结论。\n",
    }


@pytest.mark.feature("002.3")
@pytest.mark.parametrize("text", [None, "memory: {}\n", "memory: {token_limit: 64000}\n", "memory: {summarize_prompt: }\n"])
def test_load_memory_config_has_defaults_for_what_is_missing(tmp_path, text):
    path = tmp_path / "none.yaml" if text is None else written(tmp_path, text)

    assert load_memory_config(path) == {"token_limit": 64000, "summarize_prompt": None}


@pytest.mark.feature("002.4")
def test_load_memory_config_refuses_persistence_that_is_enabled(tmp_path):
    off = written(tmp_path, "memory: {persistence: {enabled: false, backend: redis}}\n")
    assert load_memory_config(str(off))["token_limit"] == 64000

    on = written(tmp_path, "memory: {persistence: {enabled: true, backend: redis}}\n")
    with pytest.raises(BadConfig, match="persistence is reserved"):
        load_memory_config(on)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "- 64000\n",
        "memory: 64000\n",
        "memory: {token_limit: 0}\n",
        "memory: {token_limit: 1.5}\n",
        "memory: {token_limit: true}\n",
        "memory: {token_limt: 64000}\n",
        "memory: {summarize_prompt: [请总结]}\n",
        "memory: [",
        "记忆: 一\n".encode("gbk"),
        "memory: !!python/object/apply:os.system ['touch made']\n",
    ],
)
def test_load_memory_config_refuses_another_file_in_one_sentence(tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadConfig) as refused:
        load_memory_config(written(tmp_path, text))

    assert refused.value.exit_code == 78
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "made").exists()
