import { script } from "./lua-script.ts";

/*
 * A use of an Idempotency-Key is a hash: who runs under it (rb body, rr request, ru until when, rl in which life), and
 * the call that was charged under it (cb body, cr request, cx until when, cv the rest of it). Requests that gave it up
 * before they heard whether they have it (late:request), and until when their claims may still come (lu), which must
 * not stay.
 */
const WORDS = `
local function now_ms(told)
  if told ~= '' then return tonumber(told) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function keep(now)
  local ru, cx, lu = unpack(redis.call('HMGET', KEYS[1], 'ru', 'cx', 'lu'))
  local untilMs = math.max(tonumber(ru or 0), tonumber(cx or 0), tonumber(lu or 0))
  if untilMs > 0 then redis.call('PEXPIRE', KEYS[1], string.format('%.0f', math.max(1, untilMs - now + 1000))) end
end
`;

/** ARGV: body, request, how long a claim lasts that nobody ends, time, life. */
export const CLAIM = script(`${WORDS}
local body, id = ARGV[1], ARGV[2]
local now = now_ms(ARGV[4])
local rb, rr, ru, rl, cb, cr, cx, cv, late =
  unpack(redis.call('HMGET', KEYS[1], 'rb', 'rr', 'ru', 'rl', 'cb', 'cr', 'cx', 'cv', 'late:' .. id))
if late then return { 'late' } end
if rr and rr ~= id and tonumber(ru) > now then return { rb == body and 'running' or 'other', rr, rl } end
if cx and tonumber(cx) > now then
  if cb == body then return { 'remembered', cr, cx, cv } end
  return { 'other', cr }
end
redis.call('HSET', KEYS[1], 'rb', body, 'rr', id, 'ru', string.format('%.0f', now + ARGV[3]), 'rl', ARGV[5])
keep(now)
return { 'claimed' }
`);

/** Of two the one that lasts longer, as in SQL. ARGV: body, request, until when, the rest, time. */
export const REMEMBER = script(`${WORDS}
if redis.call('HGET', KEYS[1], 'rr') == ARGV[2] then redis.call('HDEL', KEYS[1], 'rb', 'rr', 'ru', 'rl') end
local cx = redis.call('HGET', KEYS[1], 'cx')
if cx and tonumber(cx) > tonumber(ARGV[3]) then return 1 end
redis.call('HSET', KEYS[1], 'cb', ARGV[1], 'cr', ARGV[2], 'cx', ARGV[3], 'cv', ARGV[4])
keep(now_ms(ARGV[5]))
return 1
`);

export const RELEASE = script(`
if redis.call('HGET', KEYS[1], 'rr') == ARGV[1] then redis.call('HDEL', KEYS[1], 'rb', 'rr', 'ru', 'rl') end
return 1
`);

/** Releases it, and keeps it from coming still. ARGV: request, how long its claim may take, time. */
export const GIVE_UP = script(`${WORDS}
if redis.call('HGET', KEYS[1], 'rr') == ARGV[1] then redis.call('HDEL', KEYS[1], 'rb', 'rr', 'ru', 'rl') end
local now = now_ms(ARGV[3])
redis.call('HSET', KEYS[1], 'late:' .. ARGV[1], '1', 'lu', string.format('%.0f', now + ARGV[2]))
keep(now)
return 1
`);
