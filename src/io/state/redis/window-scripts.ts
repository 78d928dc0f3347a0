import { script } from "./lua-script.ts";

/**
 * The moments of the calls of the last 60 seconds, oldest first, in microseconds of Redis' own clock. A clock that was
 * set back does not bring a call back that has left; one that was set back by more than a window begins a new one.
 */
export const WINDOW = script(`
local WINDOW_US = 60000000
local limit, counts = tonumber(ARGV[1]), ARGV[2] == '1'
local now
if ARGV[4] ~= '' then now = ARGV[4] * 1000
else
  local time = redis.call('TIME')
  now = time[1] * 1000000 + time[2]
end
local last = tonumber(redis.call('LINDEX', KEYS[1], -1) or now)
if last > now + WINDOW_US then redis.call('DEL', KEYS[1])
elseif last > now then now = last end
local first = redis.call('LINDEX', KEYS[1], 0)
while first and tonumber(first) <= now - WINDOW_US do
  redis.call('LPOP', KEYS[1])
  first = redis.call('LINDEX', KEYS[1], 0)
end
local counted = redis.call('LLEN', KEYS[1])
local allowed, remaining, resets = 1, limit - counted, now
if counted >= limit then
  allowed, remaining = 0, 0
  resets = tonumber(redis.call('LINDEX', KEYS[1], counted - limit) or now) + WINDOW_US
elseif counts then
  redis.call('RPUSH', KEYS[1], string.format('%.0f', now))
  redis.call('PEXPIRE', KEYS[1], 61000)
  remaining = remaining - 1
  resets = tonumber(first or now) + WINDOW_US
elseif first then
  resets = tonumber(first) + WINDOW_US
end
local version = redis.call('GET', KEYS[2])
if not version then
  version = ARGV[3]
  redis.call('SET', KEYS[2], version)
end
return { allowed, remaining, math.ceil(resets / 1000), math.ceil((resets - now) / 1000), version }
`);
