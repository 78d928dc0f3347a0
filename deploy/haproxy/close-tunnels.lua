-- A balancer that stops or reloads finishes its running requests. WebSockets of tunnel nodes never end by themselves: they are
-- closed once the last request has ended, and their nodes reconnect. Without this the old process would wait for its time limit.
local PERIOD_MS = 500

local function running(backend)
  return tonumber(core.backends[backend]:get_stats()["scur"])
end

core.register_task(function()
  while true do
    core.msleep(PERIOD_MS)
    if tonumber(core.get_info()["Stopping"]) == 1 and running("gateways") == 0 then
      for _, server in pairs(core.backends["nodes"].servers) do
        server:shut_sess()
      end
    end
  end
end)
