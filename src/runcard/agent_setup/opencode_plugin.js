// The plugin that `runcard install opencode` adds to the settings of OpenCode, which names it by its path. OpenCode installs
// npm packages in each `.opencode` folder that exists; so the plugin is not in one.
// Notes that a session has started or is idle; runcard imports it in the background. Nothing is sent anywhere.
import { spawn } from "node:child_process"

const names = ["session.created", "session.busy", "session.idle"]
const last = new Map()

export const Runcard = async ({ directory }, options) => ({
  event: async ({ event }) => {
    const session = event.properties?.sessionID ?? event.properties?.info?.id
    const is_busy = event.type === "session.status" && event.properties?.status?.type === "busy"
    const name = is_busy ? "session.busy" : event.type
    if (!session || !names.includes(name) || last.get(session) === name) return
    last.set(session, name)
    try {
      const [program, ...words] = options.command
      const child = spawn(program, [...words, "opencode", name], {
        detached: true,
        stdio: ["pipe", "ignore", "ignore"],
      })
      child.on("error", () => {})
      child.stdin.on("error", () => {})
      child.stdin.end(JSON.stringify({ session_id: session, cwd: directory }))
      child.unref()
    } catch {}
  },
})
