"""Why the model wrote no summary, and what `recalld model test` prints, in Chinese."""

from __future__ import annotations

from typing import Final

TEXTS: Final = {
    "none_configured": "没有配置模型，摘要都是摘录；请填 llm.base_url 和 llm.model",
    "unnamed": '没有写模型名；请填服务器认得的名字，如 "qwen3:8b"',
    "calls_spent": "今天的 {most} 次调用已经用完",
    "paused_until": "模型暂停到 {time:%Y-%m-%d %H:%M}，{why}",
    "fault": "{why}：{server} 上的 {model}",
    "fault_as": "{fault}（{about}）",
    "no_answer_within": "模型在 {seconds:g} 秒内没有回答",
    "raised": "模型抛出了 {kind}",
    "nothing_but_is": "模型说没有值得记下的，其实有",
    "vague": "模型写得太空泛，几乎没提到说过的事",
    "no_summary": "模型写的不能用作摘要",
    "text_longer": "模型写的超过了 {most} 个字",
    "text_has_more": "模型写的多于 {most} 个字",
    "prompt_full": "提示词和已有的摘要占满了模型的上下文",
    "result_unread": "读不懂 worker 的结果：{why}",
    "worker_ended": "worker 没有交出结果就结束了；`recalld worker` 会显示原因",
    "only_queued": "这是一天或一个月的任务，必须放进 worker/queue；请提交到那里",
    "answered": "{model} 用了 {seconds} 秒回答：{answer}",
    "pause_over": "暂停已解除；运行中的 supervisor 会继续请它写摘要。",
    "no_answer": "没有得到回答：{why}。",
    "reason_timeout": "模型没有按时回答",
    "reason_empty": "模型的回答是空的",
    "reason_refused": "模型拒绝了，或者答的不是摘要",
    "reason_cut_off": "模型的回答被截断了",
    "reason_poor": "模型的回答还不如摘录说得多",
    "reason_input": "服务器不接受这些消息",
    "reason_unreadable": "它的文件读不了",
}
