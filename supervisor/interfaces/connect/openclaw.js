// recalld for OpenClaw: memory before each question, and what was said is kept. Made by script/package.
// Its entry in openclaw.json needs "hooks": { "allowPromptInjection": true, "allowConversationAccess": true }.
import { spawn } from "node:child_process"

// hook.js

const textOf = (message) =>
  typeof message.content === "string"
    ? message.content
    : (message.content ?? []).filter((part) => part.type === "text").map((part) => part.text).join("\n")

export default {
  id: "recalld",
  name: "recalld",
  kind: "memory",
  register(api) {
    const workspace = api.pluginConfig?.workspace
    const command = ["recalld", ...(workspace ? ["-w", workspace] : []), "hook", "openclaw"]
    const about = (context) => ({ session_id: context.sessionKey ?? "openclaw", cwd: context.workspaceDir })
    api.on("before_prompt_build", async (event, context) => {
      const block = await hook(command, { hook_event_name: "UserPromptSubmit", ...about(context), prompt: event.prompt })
      return block ? { prependContext: block } : undefined
    })
    api.on("agent_end", async (event, context) => {
      const last = (event.messages ?? []).findLast((one) => one.role === "assistant")
      if (!event.success || !last) return
      await hook(command, { hook_event_name: "Stop", ...about(context), last_assistant_message: textOf(last) })
    })
  },
}
