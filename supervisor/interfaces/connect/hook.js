// Give the hook an event and return the block that it answers with; "" whatever fails, and after two seconds.
function hook(command, event) {
  return new Promise((resolve) => {
    let out = ""
    const process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "ignore"] })
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
