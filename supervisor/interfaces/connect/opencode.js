// recalld for OpenCode: memory before each question, and what was said is kept. Written by `recalld connect`.
import { spawn } from "node:child_process"

const HOOK = ["recalld", "hook", "opencode"]

// hook.js

const textOf = (parts) => parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")

export const Recalld = async ({ client, directory }) => {
  const blocks = new Map() // by session: what memory says to its last question
  const answered = new Set()
  const isChild = async (id) => Boolean((await client.session.get({ path: { id } })).data?.parentID)
  return {
    "chat.message": async (input, output) => {
      const session = output.message.sessionID
      if (await isChild(session)) return // a subagent's talk is not the user's
      const about = { session_id: session, turn_id: output.message.id, cwd: directory }
      const prompt = textOf(output.parts)
      blocks.set(session, await hook(HOOK, { hook_event_name: "UserPromptSubmit", ...about, prompt }))
    },
    "experimental.chat.system.transform": async (input, output) => {
      const block = blocks.get(input.sessionID)
      if (block) output.system.push(block)
    },
    event: async ({ event }) => {
      if (event.type !== "session.idle") return
      const session = event.properties.sessionID
      const messages = (await client.session.messages({ path: { id: session } })).data ?? []
      const last = messages.findLast((one) => one.info.role === "assistant")
      if (!last || answered.has(last.info.id) || (await isChild(session))) return
      answered.add(last.info.id)
      const about = { session_id: session, turn_id: last.info.id, cwd: directory }
      await hook(HOOK, { hook_event_name: "Stop", ...about, last_assistant_message: textOf(last.parts) })
    },
  }
}
