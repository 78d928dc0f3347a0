import { script } from "./lua-script.ts";

/**
 * A new epoch begins, and the one before is over for good. Its name begins with its time, so newer is greater; where the
 * clock was set back, with a number beyond that of the last. ARGV: a word, and what stands before the epoch in the name
 * of the list of its wallets.
 */
export const BEGIN_EPOCH = script(`
local time = redis.call('TIME')
local before = redis.call('GET', KEYS[1])
if before then redis.call('DEL', ARGV[2] .. cjson.decode(before).token) end
local now = time[1] * 1000000 + time[2]
local last = tonumber(redis.call('HGET', KEYS[3], 'name') or 0)
local name = string.format('%016.0f', math.max(now, last + 1))
local epoch = name .. '-' .. ARGV[1]
redis.call('HSET', KEYS[3], 'name', name, 'began_ms', string.format('%.0f', math.floor(now / 1000)))
redis.call('DEL', KEYS[1])
redis.call('SET', KEYS[2], epoch, 'PX', 120000)
return epoch
`);

/**
 * The epoch is open, unless another one began meanwhile; from here on its list of wallets stays. Changes of money that
 * were left half done when it began are in it as far as SQL has them. ARGV: epoch, what is to be known of it.
 */
export const FINISH_EPOCH = script(`
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return 0 end
redis.call('PERSIST', KEYS[3])
redis.call('SET', KEYS[1], ARGV[2])
redis.call('DEL', KEYS[2])
redis.call('ZREMRANGEBYSCORE', KEYS[4], '-inf', redis.call('HGET', KEYS[5], 'began_ms'))
return 1
`);

/** Money moves in SQL and in wallets: until when this is believed without being told again. ARGV: for how long, names. */
export const MARK_MOVING = script(`
local time = redis.call('TIME')
local until_ms = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000) + ARGV[1])
for at = 2, #ARGV do redis.call('ZADD', KEYS[1], until_ms, ARGV[at]) end
return 1
`);

/**
 * Ends an epoch, unless another one is open: nobody knows whether its wallets have all that SQL has. With `left` only
 * where somebody died over a change of money. ARGV: epoch, what stands before it in the name of the list of its wallets,
 * why, and `ask` where it is only asked whether it would end.
 */
export const END_EPOCH = script(`
if ARGV[3] == 'left' then
  local time = redis.call('TIME')
  local now = string.format('%.0f', time[1] * 1000 + math.floor(time[2] / 1000))
  if #redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', now, 'LIMIT', 0, 1) == 0 then return 0 end
end
local open = redis.call('GET', KEYS[1])
if not open or cjson.decode(open).token ~= ARGV[1] then return 0 end
if ARGV[4] ~= 'ask' then redis.call('DEL', KEYS[1], ARGV[2] .. ARGV[1]) end
return 1
`);

/**
 * Notes on the board, with their names in order, so that those that begin alike are found without a search. Names that
 * nobody asks for again go too: each note that is put takes away some whose time is over.
 */
export const PUT_NOTE = script(`
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 10)) do
  redis.call('ZREM', KEYS[2], name)
  redis.call('ZREM', KEYS[3], name)
end
redis.call('SET', KEYS[1], ARGV[2], 'PX', ARGV[3])
redis.call('ZADD', KEYS[2], 0, ARGV[1])
redis.call('ZADD', KEYS[3], string.format('%.0f', now + ARGV[3]), ARGV[1])
return 1
`);

export const DROP_NOTE = script(`
redis.call('DEL', KEYS[1])
redis.call('ZREM', KEYS[2], ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
return 1
`);

/** ARGV: the first name and the one after the last, and what stands before names in Redis. */
export const LIST_NOTES = script(`
local found = {}
for _, name in ipairs(redis.call('ZRANGEBYLEX', KEYS[1], ARGV[1], ARGV[2])) do
  local value = redis.call('GET', ARGV[3] .. name)
  if value then
    found[#found + 1] = name
    found[#found + 1] = value
  else
    redis.call('ZREM', KEYS[1], name)
  end
end
return found
`);

export const RENEW_LOCK = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
`);

export const RELEASE_LOCK = script(`
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
`);
