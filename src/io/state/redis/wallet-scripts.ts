import { PAIR_RECORDS, PAIRS } from "./amount-scripts.ts";
import { luaScript } from "./lua-script.ts";

/** How long Redis knows that a credit or withdrawal was applied, so that a retry does not apply it again. */
export const CHANGE_MARK_MS = 3_600_000;

/*
 * The money of a workspace is a hash: b balance, f free (balance minus holds), e the generation it was filled in, l the
 * generation that is filling it, and by request r<id> what it holds. b and f are 64-bit integers, which Lua numbers cannot
 * hold: they are only added by HINCRBY and passed on as text. Of the result of HINCRBY only the sign is read, which
 * rounding does not change.
 *
 * What a request holds is 'kind|nanos|since|month|day|key|member|instance'. Kinds: h held; s swept or released, of nothing;
 * a adopted, a charge on its way into SQL whose hold was lost; t a tombstone that bars a hold which may still arrive;
 * p (alone) charged, and SQL may not have the charge yet; q both p and t.
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
`;

const SPEND_HELPERS = `${HELPERS}${PAIRS}${PAIR_RECORDS}
local months = {}
local function spend(month, day, spenders, place, nanos)
  if nanos == '0' then return end
  local records, amount = months[month] or {}, pair_of(nanos)
  months[month] = records
  for _, spender in ipairs(spenders) do
    if spender ~= '' then
      local record = records[spender] or load_pair_record(redis.call('HGET', KEYS[2] .. month, spender))
      records[spender] = record
      turn_pair_record(record, tonumber(day))
      record[place], record[place + 2] = pair_sum(record[place], amount), pair_sum(record[place + 2], amount)
    end
  end
end
local SPENT, HELD = 2, 3
local function write_spends()
  for month, records in pairs(months) do
    local key = KEYS[2] .. month
    for spender, record in pairs(records) do redis.call('HSET', key, spender, store_pair_record(record)) end
    -- Outlasts the month and the one after it.
    if redis.call('PTTL', key) == -1 then redis.call('PEXPIRE', key, 6048000000) end
  end
end
local HOLD = '^(%a)|(%d+)|(%d+)|([^|]*)|([^|]*)|([^|]*)|([^|]*)|'
-- The hold stays as swept, so that a late charge still finds it.
local function give_back(money, workspace, entry, hold)
  local _, nanos, _, month, day, key, member = string.match(hold, HOLD)
  add(money, 'f', nanos)
  spend(month, day, { workspace, key, member }, HELD, negative(nanos))
  redis.call('HSET', money, entry, 's|0' .. string.sub(hold, 3 + #nanos))
end
`;

/**
 * Adds a hold without a balance check: of a request in flight that is missing in this generation (kind h), or of a charge
 * that is about to be written to SQL and never reached the wallet (kind a, of nothing). ARGV: generation, entry, kind,
 * nanos, workspace, key, member, month, day, instance, time.
 */
export const ADOPT = luaScript(`${SPEND_HELPERS}
local money = KEYS[1]
local epoch, entry, kind, nanos, workspace, key, member, month, day = unpack(ARGV, 1, 9)
if redis.call('HGET', money, 'e') ~= epoch then return 'opening' end
local known = redis.call('HGET', money, entry)
if known and string.sub(known, 1, 1) ~= 't' then return 'known' end
add(money, 'f', negative(nanos))
spend(month, day, { workspace, key, member }, HELD, nanos)
write_spends()
local since = string.format('%.0f', now_ms(ARGV[11]))
redis.call('HSET', money, entry, table.concat({ kind, nanos, since, month, day, key, member, ARGV[10] }, '|'))
return 'adopted'
`);

/**
 * SQL has these charges, so they need not be remembered; a hold that may still arrive stays barred. ARGV: key prefix, then
 * for every workspace its id, the number of entries, and these.
 */
export const FORGET_PAID = luaScript(`
local at = 2
while ARGV[at] do
  local money, count, gone = ARGV[1] .. '{' .. ARGV[at] .. '}:money', tonumber(ARGV[at + 1]), {}
  for n, known in ipairs(redis.call('HMGET', money, unpack(ARGV, at + 2, at + 1 + count))) do
    local entry = ARGV[at + 1 + n]
    if known == 'p' then gone[#gone + 1] = entry
    elseif known and string.sub(known, 1, 1) == 'q' then redis.call('HSET', money, entry, 't' .. string.sub(known, 2)) end
  end
  if gone[1] then redis.call('HDEL', money, unpack(gone)) end
  at = at + 2 + count
end
return 1
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

/** Spent and held of a day, then of its month. ARGV: generation, spender, month, day. */
export const READ_SPENDING = luaScript(`${SPEND_HELPERS}
if redis.call('HGET', KEYS[1], 'e') ~= ARGV[1] then return { 'opening' } end
local record = load_pair_record(redis.call('HGET', KEYS[2] .. ARGV[3], ARGV[2]))
turn_pair_record(record, tonumber(ARGV[4]))
return { 'open', pair_text(record[4]), pair_text(record[5]), pair_text(record[2]), pair_text(record[3]) }
`);

/** ARGV: generation, workspace, key, member, month, day, nanos. */
export const ADD_SPENT = luaScript(`${SPEND_HELPERS}
local epoch, workspace, key, member, month, day, nanos = unpack(ARGV)
if redis.call('HGET', KEYS[1], 'e') ~= epoch then return 'opening' end
spend(month, day, { workspace, key, member }, SPENT, nanos)
write_spends()
return 'spent'
`);

/** Releases holds older than an age, and removes them after twice that. ARGV: generation, age, workspace, time. */
export const SWEEP = luaScript(`${SPEND_HELPERS}
local money = KEYS[1]
if redis.call('HGET', money, 'e') ~= ARGV[1] then return 0 end
local now, age = now_ms(ARGV[4]), tonumber(ARGV[2])
local all = redis.call('HGETALL', money)
local given = 0
for at = 1, #all, 2 do
  local entry, hold = all[at], all[at + 1]
  local kind, _, since = string.match(hold, HOLD)
  if kind and string.sub(entry, 1, 1) == 'r' then
    local old = now - since
    if kind == 'h' and old >= age then
      given = given + 1
      give_back(money, ARGV[3], entry, hold)
    end
    if kind ~= 'a' and kind ~= 'q' and old >= 2 * age then redis.call('HDEL', money, entry) end
  end
end
write_spends()
return given
`);

/** Releases the hold of one request. ARGV: generation, workspace, entry. */
export const RELEASE_HOLD = luaScript(`${SPEND_HELPERS}
local money = KEYS[1]
local epoch, workspace, entry = unpack(ARGV)
if redis.call('HGET', money, 'e') ~= epoch then return 0 end
local hold = redis.call('HGET', money, entry)
if hold and string.sub(hold, 1, 1) == 'h' then give_back(money, workspace, entry, hold) end
write_spends()
return 1
`);

/**
 * Releases holds that some instances took before a moment. ARGV: generation, workspace, moment, number of instances, their
 * ids, then entries whose holds stay.
 */
export const RELEASE_HOLDS_BEFORE = luaScript(`${SPEND_HELPERS}
local money = KEYS[1]
local epoch, workspace, moment, count = unpack(ARGV, 1, 4)
if redis.call('HGET', money, 'e') ~= epoch then return 0 end
local ended, kept = {}, {}
for at = 5, #ARGV do
  local named = at <= 4 + count and ended or kept
  named[ARGV[at]] = true
end
local all = redis.call('HGETALL', money)
for at = 1, #all, 2 do
  local entry, hold = all[at], all[at + 1]
  local kind, _, since = string.match(hold, HOLD)
  if kind == 'h' and string.sub(entry, 1, 1) == 'r' and not kept[entry] then
    local is_theirs = ended[string.match(hold, '|([^|]*)$')] and tonumber(since) < tonumber(moment)
    if is_theirs then give_back(money, workspace, entry, hold) end
  end
end
write_spends()
return 1
`);

/**
 * Fills a wallet in a new generation, in parts: the first clears it, the last opens it. A part of an older generation
 * changes nothing once a newer one has begun. KEYS after the second are months to clear. ARGV: generation, part, balance,
 * workspace, time, then for every line kind (h hold, c charge, s spend), entry, nanos, month, day, key, member, instance.
 */
export const FILL = luaScript(`${SPEND_HELPERS}
local money = KEYS[1]
local epoch, part, balance, workspace = unpack(ARGV, 1, 4)
local filled, filling = unpack(redis.call('HMGET', money, 'e', 'l'))
if filled == epoch then return 'filled' end
if (filled and filled > epoch) or (filling and filling > epoch) then return 'newer' end
if part == 'first' or part == 'only' then
  redis.call('DEL', unpack(KEYS))
  redis.call('HSET', money, 'l', epoch, 'b', balance, 'f', balance)
elseif filling ~= epoch then return 'newer' end
local since = string.format('%.0f', now_ms(ARGV[5]))
for at = 6, #ARGV, 8 do
  local kind, entry, nanos, month, day, key, member, instance = unpack(ARGV, at, at + 7)
  local spenders = { workspace, key, member }
  if kind == 's' then spend(month, day, spenders, SPENT, nanos)
  else
    local known = redis.call('HGET', money, entry)
    if kind == 'h' and known == false then
      local hold = table.concat({ 'h', nanos, since, month, day, key, member, instance }, '|')
      redis.call('HSET', money, entry, hold)
      add(money, 'f', negative(nanos))
      spend(month, day, spenders, HELD, nanos)
    elseif kind == 'c' and known ~= 'p' then
      -- An instance that missed the charge may still hold it.
      if known then give_back(money, workspace, entry, known) end
      redis.call('HSET', money, entry, 'p')
      add(money, 'b', negative(nanos))
      add(money, 'f', negative(nanos))
      spend(month, day, spenders, SPENT, nanos)
    end
  end
end
write_spends()
if part == 'last' or part == 'only' then
  redis.call('HSET', money, 'e', epoch)
  redis.call('HDEL', money, 'l')
end
return 'filled'
`);
