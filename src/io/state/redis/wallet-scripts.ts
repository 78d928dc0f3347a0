import { luaScript } from "./lua-script.ts";

/** How long Redis knows that a credit or withdrawal was applied, so that a retry does not apply it again. */
export const CHANGE_MARK_MS = 3_600_000;

/*
 * A wallet is a hash: b balance, f free (balance minus holds), e the generation it was filled in, l the generation that
 * is filling it. Amounts are 64-bit integers, which Lua numbers cannot hold: they are only added by HINCRBY and passed on
 * as text. Of the result of HINCRBY only the sign is read, which rounding does not change.
 *
 * A hold is 'kind|nanos|since|month|day|key|member|instance'. Kinds: h held; s swept or released, of nothing; a adopted, a
 * charge on its way into SQL whose hold was lost; t a tombstone that bars a hold which may still arrive.
 *
 * With `#!lua`, Redis refuses a whole script instead of a part of it when its memory is full.
 *
 * The time argument is empty outside tests: Redis' own clock decides. Every script is given the generation and returns
 * 'opening' when the wallet is of another one.
 */
const HELPERS = `#!lua
local function negative(nanos)
  if nanos == '0' then return '0' end
  if string.sub(nanos, 1, 1) == '-' then return string.sub(nanos, 2) end
  return '-' .. nanos
end
local function add(key, field, nanos)
  if nanos == '0' then return 0 end
  return redis.call('HINCRBY', key, field, nanos)
end
local function now_ms(test_time)
  if test_time ~= '' then return tonumber(test_time) end
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
local function spend(prefix, month, day, spenders, kind, nanos)
  if nanos == '0' then return end
  local key = prefix .. month
  for _, spender in ipairs(spenders) do
    if spender ~= '' then
      redis.call('HINCRBY', key, spender .. ':' .. kind, nanos)
      redis.call('HINCRBY', key, spender .. ':' .. day .. ':' .. kind, nanos)
    end
  end
  -- Outlasts the month and the one after it.
  if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, 6048000000) end
end
local HOLD = '^(%a)|(%d+)|(%d+)|([^|]*)|([^|]*)|([^|]*)|([^|]*)|'
-- The hold stays as swept, so that a late charge still finds it.
local function give_back(wallet, holds, prefix, workspace, id, hold)
  local _, nanos, _, month, day, key, member = string.match(hold, HOLD)
  add(wallet, 'f', nanos)
  spend(prefix, month, day, { workspace, key, member }, 'h', negative(nanos))
  redis.call('HSET', holds, id, 's|0' .. string.sub(hold, 3 + #nanos))
end
`;

/**
 * Adds a hold without a balance check: of a request in flight that is missing in this generation (kind h), or of a charge
 * that is about to be written to SQL and never reached the wallet (kind a, of nothing). ARGV: generation, request, kind,
 * nanos, workspace, key, member, month, day, instance, time.
 */
export const ADOPT = luaScript(`${HELPERS}
local wallet, holds, paid, prefix = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local epoch, id, kind, nanos, workspace, key, member, month, day = unpack(ARGV, 1, 9)
if redis.call('HGET', wallet, 'e') ~= epoch then return 'opening' end
local hold = redis.call('HGET', holds, id)
if hold and string.sub(hold, 1, 1) ~= 't' then return 'known' end
if redis.call('HEXISTS', paid, id) == 1 then return 'known' end
add(wallet, 'f', negative(nanos))
spend(prefix, month, day, { workspace, key, member }, 'h', nanos)
local since = string.format('%.0f', now_ms(ARGV[11]))
redis.call('HSET', holds, id, table.concat({ kind, nanos, since, month, day, key, member, ARGV[10] }, '|'))
return 'adopted'
`);

/** Adds to the balance once. ARGV: generation, nanos. KEYS[2] marks it as applied. */
export const CREDIT = luaScript(`${HELPERS}
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return 'opening' end
if not redis.call('SET', KEYS[2], ARGV[2], 'NX', 'PX', ${CHANGE_MARK_MS}) then return 'credited' end
add(KEYS[1], 'b', ARGV[2])
add(KEYS[1], 'f', ARGV[2])
return 'credited'
`);

/** Withdraws free credit. ARGV: generation, nanos, all or nothing, reserve. KEYS[2] keeps the amount for UNDO_WITHDRAW. */
export const WITHDRAW = luaScript(`${HELPERS}
local wallet = KEYS[1]
local epoch, nanos, whole, leaving = unpack(ARGV)
if redis.call('HGET', wallet, 'e') ~= epoch then return 'opening' end
if redis.call('EXISTS', KEYS[2]) == 1 then return '0' end
local taken = '0'
local free = redis.call('HINCRBY', wallet, 'f', negative(leaving))
if free > 0 then
  if redis.call('HINCRBY', wallet, 'f', negative(nanos)) >= 0 then taken = nanos
  else
    add(wallet, 'f', nanos)
    if whole ~= '1' then
      taken = redis.call('HGET', wallet, 'f')
      add(wallet, 'f', negative(taken))
    end
  end
end
add(wallet, 'f', leaving)
add(wallet, 'b', negative(taken))
redis.call('SET', KEYS[2], taken, 'PX', ${CHANGE_MARK_MS})
return taken
`);

/** Undoes a WITHDRAW whose reply was lost, and bars it from arriving late. ARGV: generation. */
export const UNDO_WITHDRAW = luaScript(`${HELPERS}
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return 'opening' end
local taken = redis.call('GET', KEYS[2]) or '0'
redis.call('SET', KEYS[2], '0', 'PX', ${CHANGE_MARK_MS})
add(KEYS[1], 'b', taken)
add(KEYS[1], 'f', taken)
return taken
`);

export const READ_WALLET = luaScript(`
local e, b, f = unpack(redis.call('HMGET', KEYS[1], 'e', 'b', 'f'))
if e ~= ARGV[1] then return { 'opening' } end
return { 'open', b, f }
`);

/** ARGV: generation, then fields of the month. */
export const READ_SPENDING = luaScript(`
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return { 'opening' } end
local figures = redis.call('HMGET', KEYS[2], unpack(ARGV, 2))
return { 'open', unpack(figures) }
`);

/** ARGV: generation, workspace, key, member, month, day, nanos. */
export const ADD_SPENT = luaScript(`${HELPERS}
local epoch, workspace, key, member, month, day, nanos = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'e') ~= epoch then return 'opening' end
spend(KEYS[2], month, day, { workspace, key, member }, 's', nanos)
return 'spent'
`);

/** Releases holds older than an age, and removes them after twice that. ARGV: generation, age, workspace, time. */
export const SWEEP = luaScript(`${HELPERS}
local wallet, holds, prefix = KEYS[1], KEYS[2], KEYS[3]
if redis.call('HGET', wallet, 'e') ~= ARGV[1] then return 0 end
local now, age = now_ms(ARGV[4]), tonumber(ARGV[2])
local all = redis.call('HGETALL', holds)
local given = 0
for at = 1, #all, 2 do
  local id, hold = all[at], all[at + 1]
  local kind, _, since = string.match(hold, HOLD)
  local old = now - since
  if kind == 'h' and old >= age then
    given = given + 1
    give_back(wallet, holds, prefix, ARGV[3], id, hold)
  end
  if kind ~= 'a' and old >= 2 * age then redis.call('HDEL', holds, id) end
end
return given
`);

/** Releases the hold of one request. ARGV: generation, workspace, request. */
export const RELEASE_HOLD = luaScript(`${HELPERS}
local wallet, holds, prefix = KEYS[1], KEYS[2], KEYS[3]
local epoch, workspace, id = unpack(ARGV)
if redis.call('HGET', wallet, 'e') ~= epoch then return 0 end
local hold = redis.call('HGET', holds, id)
if hold and string.sub(hold, 1, 1) == 'h' then give_back(wallet, holds, prefix, workspace, id, hold) end
return 1
`);

/**
 * Releases holds that some instances took before a moment. ARGV: generation, workspace, moment, number of instances, their
 * ids, then requests whose holds stay.
 */
export const RELEASE_HOLDS_BEFORE = luaScript(`${HELPERS}
local wallet, holds, prefix = KEYS[1], KEYS[2], KEYS[3]
local epoch, workspace, moment, count = unpack(ARGV, 1, 4)
if redis.call('HGET', wallet, 'e') ~= epoch then return 0 end
local ended, kept = {}, {}
for at = 5, #ARGV do
  local named = at <= 4 + count and ended or kept
  named[ARGV[at]] = true
end
local all = redis.call('HGETALL', holds)
for at = 1, #all, 2 do
  local id, hold = all[at], all[at + 1]
  local kind, _, since = string.match(hold, HOLD)
  local is_theirs = ended[string.match(hold, '|([^|]*)$')] and tonumber(since) < tonumber(moment)
  if kind == 'h' and is_theirs and not kept[id] then give_back(wallet, holds, prefix, workspace, id, hold) end
end
return 1
`);

/**
 * Fills a wallet in a new generation, in parts: the first clears it, the last opens it. A part of an older generation
 * changes nothing once a newer one has begun. KEYS after the fourth are months to clear. ARGV: generation, part, balance,
 * workspace, time, then for every line kind (h hold, c charge, s spend), id, nanos, month, day, key, member, instance.
 */
export const FILL = luaScript(`${HELPERS}
local wallet, holds, paid, prefix = KEYS[1], KEYS[2], KEYS[3], KEYS[4]
local epoch, part, balance, workspace = unpack(ARGV, 1, 4)
local filled, filling = unpack(redis.call('HMGET', wallet, 'e', 'l'))
if filled == epoch then return 'filled' end
if (filled and filled > epoch) or (filling and filling > epoch) then return 'newer' end
if part == 'first' or part == 'only' then
  redis.call('DEL', unpack(KEYS))
  redis.call('HSET', wallet, 'l', epoch, 'b', balance, 'f', balance)
elseif filling ~= epoch then return 'newer' end
local since = string.format('%.0f', now_ms(ARGV[5]))
for at = 6, #ARGV, 8 do
  local kind, id, nanos, month, day, key, member, instance = unpack(ARGV, at, at + 7)
  local spenders = { workspace, key, member }
  if kind == 'h' then
    local hold = table.concat({ 'h', nanos, since, month, day, key, member, instance }, '|')
    if redis.call('HSETNX', holds, id, hold) == 1 then
      add(wallet, 'f', negative(nanos))
      spend(prefix, month, day, spenders, 'h', nanos)
    end
  elseif kind == 's' then spend(prefix, month, day, spenders, 's', nanos)
  elseif redis.call('HSETNX', paid, id, '1') == 1 then
    add(wallet, 'b', negative(nanos))
    add(wallet, 'f', negative(nanos))
    spend(prefix, month, day, spenders, 's', nanos)
  end
end
if part == 'last' or part == 'only' then
  redis.call('HSET', wallet, 'e', epoch)
  redis.call('HDEL', wallet, 'l')
end
return 'filled'
`);
