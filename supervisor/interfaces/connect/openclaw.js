// recalld for OpenClaw: memory before each question, and what was said is kept. Made by script/package.
// Its entry in openclaw.json needs "hooks": { "allowPromptInjection": true, "allowConversationAccess": true }.
import { spawn } from "node:child_process"

// Give the hook an event and return the block that it answers with; "" whatever fails, and after two seconds.
function hook(workspace, event) {
  return new Promise((resolve) => {
    let out = ""
    const words = [...(workspace ? ["-w", workspace] : []), "hook", "openclaw"]
    const process = spawn("recalld", words, { stdio: ["pipe", "pipe", "ignore"] })
    const timer = setTimeout(() => process.kill(), 2500)
    process.stdout.on("data", (data) => (out += data))
    process.stdin.on("error", () => {})
    process.on("error", () => resolve(""))
    process.on("close", () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(out).hookSpecificOutput.additionalContext)
      } catch {
        resolve("")
      }
    })
    process.stdin.end(JSON.stringify(event))
  })
}

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
    const about = (context) => ({ session_id: context.sessionKey ?? "openclaw", cwd: context.workspaceDir })
    api.on("before_prompt_build", async (event, context) => {
      const block = await hook(workspace, { hook_event_name: "UserPromptSubmit", ...about(context), prompt: event.prompt })
      return block ? { prependContext: block } : undefined
    })
    api.on("agent_end", async (event, context) => {
      const last = (event.messages ?? []).findLast((one) => one.role === "assistant")
      if (!event.success || !last) return
      await hook(workspace, { hook_event_name: "Stop", ...about(context), last_assistant_message: textOf(last) })
    })
  },
}
