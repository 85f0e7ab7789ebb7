// The plugin that `runcard install opencode` adds to the settings of OpenCode, which names it by its path. OpenCode installs
// npm packages in each `.opencode` folder that exists; so the plugin is not in one.
// Notes that a session has started or is idle; runcard imports it in the background. Nothing is sent anywhere.
import { spawnSync } from "node:child_process"

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
      // Waits for the program, some 20 ms: the last event is noted last, and before OpenCode ends.
      spawnSync(program, [...words, "opencode", name], {
        input: JSON.stringify({ session_id: session, cwd: directory }),
        stdio: ["pipe", "ignore", "ignore"],
        timeout: 5000,
      })
    } catch {}
  },
})
