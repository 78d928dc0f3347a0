import { PAIR_RECORDS, PAIRS } from "./amount-scripts.ts";
import { luaScript } from "./lua-script.ts";
import { SINGLE_STEPS, WINDOW_CALLS } from "./request-script-parts.ts";

/** How a part computes with amounts. Operations are inserted into the source: a call for each would cost more than they do. */
type Arithmetic = {
  readonly name: string;
  readonly zero: string;
  readonly parse: (text: string) => string;
  readonly text: (amount: string) => string;
  readonly add: (one: string, other: string) => string;
  readonly subtract: (one: string, other: string) => string;
  readonly isBelow: (one: string, other: string) => string;
  readonly isZero: (amount: string) => string;
  /** Of a limit that is only compared: a number above all exact ones may be rounded. */
  readonly limit: (text: string) => string;
  /** The functions that read, turn and write spend records. */
  readonly records: string;
};

/** Raises 'inexact' when an amount may be too large. */
const NUMBERS: Arithmetic = {
  name: "run_money",
  zero: "0",
  parse: (text) => `small(${text})`,
  text: (amount) => `format('%d', ${amount})`,
  add: (one, other) => `(${one} + ${other})`,
  subtract: (one, other) => `(${one} - ${other})`,
  isBelow: (one, other) => `${one} < ${other}`,
  isZero: (amount) => `${amount} == 0`,
  limit: (text) => `tonumber(${text})`,
  records: "load_record, turn_record, store_record",
};

const NUMBER_PAIRS: Arithmetic = {
  name: "run_large_money",
  zero: "ZERO",
  parse: (text) => `pair_of(${text})`,
  text: (amount) => `pair_text(${amount})`,
  add: (one, other) => `pair_sum(${one}, ${other})`,
  subtract: (one, other) => `pair_difference(${one}, ${other})`,
  isBelow: (one, other) => `is_pair_below(${one}, ${other})`,
  isZero: (amount) => `is_pair_zero(${amount})`,
  limit: (text) => `pair_of(${text})`,
  records: "load_pair_record, turn_pair_record, store_pair_record",
};

/** The money steps of one workspace. Everything is read first, computed, and written at the end. */
const moneyWith = ({ name, zero, parse, text, add, subtract, isBelow, isZero, limit, records }: Arithmetic) => `
local ${name}
do
  local load, turn, store = ${records}
  local workspace, spend_prefix, free, charged, entries, changed, months
  local function record_of(month, spender, day)
    if spender == '' then return nil end
    months = months or {}
    local spenders = months[month]
    if not spenders then
      spenders = {}
      months[month] = spenders
    end
    local record = spenders[spender]
    if not record then
      record = load(call('HGET', spend_prefix .. month, spender))
      spenders[spender] = record
    end
    if record[1] ~= day then turn(record, day) end
    return record
  end
  local function put(id, entry)
    entries[id] = entry
    changed[#changed + 1] = id
  end
  local function add_held(record, nanos)
    record[3], record[5], record[7] = ${add("record[3]", "nanos")}, ${add("record[5]", "nanos")}, true
  end
  local function charge_record(record, nanos, charge)
    record[2], record[3] = ${add("record[2]", "charge")}, ${subtract("record[3]", "nanos")}
    record[4], record[5], record[7] = ${add("record[4]", "charge")}, ${subtract("record[5]", "nanos")}, true
  end
  local function run_hold(id, nanos_text, tail, limits)
    local known = entries[id]
    local kind = known and sub(known, 1, 1)
    -- Ended, or charged by another run: nothing is charged twice.
    if kind == 't' or kind == 'p' or kind == 'q' then return reply('late') end
    -- A hold of an earlier run continues from now on. A swept one holds nothing and is requested like a new one.
    if kind == 'h' then
      local before, spenders = match(known, '^h|(%d+)|%d+|([^|]*|[^|]*|[^|]*|[^|]*|)')
      put(id, 'h|' .. before .. '|' .. since .. '|' .. spenders .. instance)
    end
    if kind and kind ~= 's' then return reply('held') end
    local nanos = ${parse("nanos_text")}
    if ${isBelow("free", "nanos")} then
      reply('insufficient')
      return reply(${text("free")})
    end
    local month, day, key, member = match(tail, '^([^|]*)|(%d+)|([^|]*)|([^|]*)')
    day = tonumber(day)
    local of_workspace = record_of(month, workspace, day)
    local of_key, of_member = record_of(month, key, day), record_of(month, member, day)
    if limits ~= '' then
      local n = 0
      for of, span, most in gmatch(limits, '(%a)(%a)(%d+)') do
        local record = of == 'w' and of_workspace or of == 'k' and of_key or of == 'm' and of_member
        local spent, held = ${zero}, ${zero}
        if record and span == 'm' then spent, held = record[2], record[3]
        elseif record then spent, held = record[4], record[5] end
        local limit, needed = ${limit("most")}, ${add(add("spent", "held"), "nanos")}
        if ${isBelow("limit", "needed")} then
          reply('limit')
          reply(n)
          reply(${text("spent")})
          return reply(${text("held")})
        end
        n = n + 1
      end
    end
    free = ${subtract("free", "nanos")}
    add_held(of_workspace, nanos)
    if of_key then add_held(of_key, nanos) end
    if of_member then add_held(of_member, nanos) end
    put(id, 'h|' .. nanos_text .. '|' .. since .. '|' .. tail)
    reply('held')
  end
  local function run_settlement(id, charge_text, may_arrive)
    local known = entries[id]
    local kind = known and sub(known, 1, 1)
    if kind == 'p' or kind == 'q' then return reply('paid') end
    if not kind or kind == 't' then
      if may_arrive then put(id, TOMBSTONE) end
      return reply('none')
    end
    local nanos_text, month, day, key, member = match(known, '^%a|(%d+)|%d+|([^|]*)|(%d+)|([^|]*)|([^|]*)')
    local nanos, charge = ${parse("nanos_text")}, ${parse("charge_text")}
    day = tonumber(day)
    charge_record(record_of(month, workspace, day), nanos, charge)
    local of_key, of_member = record_of(month, key, day), record_of(month, member, day)
    if of_key then charge_record(of_key, nanos, charge) end
    if of_member then charge_record(of_member, nanos, charge) end
    free, charged = ${subtract(add("free", "nanos"), "charge")}, ${add("charged", "charge")}
    if charge_text == '0' then put(id, may_arrive and TOMBSTONE)
    else put(id, may_arrive and PAID_TOMBSTONE or 'p') end
    reply('settled')
  end
  local function changed_spends(spenders)
    local fields, count, has_new = {}, 0, false
    for spender, record in pairs(spenders) do
      if record[7] then
        fields[count + 1], fields[count + 2] = spender, store(record)
        count, has_new = count + 2, has_new or record[8]
      end
    end
    return count > 0 and fields, has_new
  end
  local function write_spends(month, fields, has_new)
    local key = spend_prefix .. month
    call('HSET', key, unpack(fields))
    -- It outlasts the month and the one after it.
    if has_new and call('PTTL', key) == -1 then call('PEXPIRE', key, 6048000000) end
  end
  local function write(money)
    local spends
    -- Nothing is written before it is certain that no amount is inexact.
    if months then
      for month, spenders in pairs(months) do
        local fields, has_new = changed_spends(spenders)
        if fields then
          spends = spends or {}
          spends[#spends + 1] = { month, fields, has_new }
        end
      end
    end
    if not (${isZero("charged")}) then call('HINCRBY', money, 'b', ${text(subtract(zero, "charged"))}) end
    if spends then
      for _, one in ipairs(spends) do write_spends(one[1], one[2], one[3]) end
    end
    local written, removed = { 'f', ${text("free")} }, nil
    for _, id in ipairs(changed) do
      local entry = entries[id]
      if entry then
        written[#written + 1] = id
        written[#written + 1] = entry
      else
        removed = removed or {}
        removed[#removed + 1] = id
      end
    end
    call('HSET', money, unpack(written))
    if removed then call('HDEL', money, unpack(removed)) end
  end
  function ${name}(tag, workspace_id, from, steps)
    local money, at, head = tag .. ':money', from, nil
    total, workspace, spend_prefix, charged = 0, workspace_id, tag .. ':spend:', ${zero}
    entries, changed, months = {}, {}, nil
    if steps == 1 then
      local id = ARGV[from + 1]
      head = call('HMGET', money, 'e', 'f', id)
      entries[id] = head[3]
    else
      local ids = {}
      for step = 1, steps do
        ids[step] = ARGV[at + 1]
        at = at + (ARGV[at] == 'h' and 5 or 3)
      end
      head = call('HMGET', money, 'e', 'f', unpack(ids))
      for step = 1, steps do entries[ids[step]] = head[step + 2] end
    end
    if head[1] ~= generation then
      for _ = 1, steps do reply('opening') end
      return
    end
    free, at = ${parse("head[2]")}, from
    for _ = 1, steps do
      local kind = ARGV[at]
      if kind == 'h' then
        run_hold(ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
        at = at + 5
      else
        run_settlement(ARGV[at + 1], ARGV[at + 2], kind == 'd')
        at = at + 3
      end
    end
    if changed[1] then write(money) end
  end
end
`;

/**
 * Everything requests need of the shared state, for many requests of many workspaces in one call: calls counted in rate
 * windows, holds and settlements. The effect is that of one script for each, in the order of the call.
 *
 * ARGV: time, instance, key prefix, generation, version for workspaces without one, then for every workspace: workspace,
 * 1000 × number of window calls + number of money steps, and these:
 *   window call:  key, limit; 'p' before the limit: the call is not counted
 *   hold:         'h', entry, nanos, 'month|day|key|member|instance', limits as 'spender span nanos' without spaces, where
 *                 the spender is w, k or m and the span d or m
 *   settlement:   's' or, when the hold may still arrive, 'd', entry, charge
 * The reply is flat: the time in microseconds, then for a window call remaining or -1, reset in microseconds, version; for a
 * hold or settlement its result, for 'insufficient' also the free amount, for 'limit' its index, the spent and the held
 * amount. Entries that failed have 'failed' and the reason instead, and changed nothing.
 *
 * A sliding 60-second window is a list of call times in microseconds of Redis' clock, oldest first. When that clock is set
 * back, time stands still until it catches up; when it is set back by more than a window, the window starts over.
 *
 * Money is read first, computed here and written at the end, so that a failure writes nothing. Amounts are 64-bit
 * integers. They are computed as numbers while the sum of all is small enough to be exact, otherwise as pairs.
 *
 * Redis spends about a fifth of a microsecond on every argument, a third on every value of the reply, and half a
 * microsecond on every command: that is why there are so few of each.
 *
 * With `#!lua`, Redis refuses the whole script instead of a part of it when its memory is full.
 */
export const REQUESTS = luaScript(`#!lua
local WINDOW_US, EXACT_MAX, ONE_BY_ONE_MAX = 60000000, 4e15, 3
local call, floor, format = redis.call, math.floor, string.format
local match, gmatch, find, sub, byte = string.match, string.gmatch, string.find, string.sub, string.byte
local pack_values, unpack_values = struct.pack, struct.unpack
local now_us
if ARGV[1] ~= '' then now_us = ARGV[1] * 1000
else
  local time = call('TIME')
  now_us = time[1] * 1000000 + time[2]
end
local now_text, since = format('%d', now_us), format('%d', floor(now_us / 1000))
local instance, prefix, generation, new_version = ARGV[2], ARGV[3], ARGV[4], ARGV[5]
local TOMBSTONE, PAID_TOMBSTONE = 't|0|' .. since .. '|||||', 'q|0|' .. since .. '|||||'
local replies, count = { now_us }, 1
local function reply(value)
  count = count + 1
  replies[count] = value
end
${PAIRS}${PAIR_RECORDS}
-- Sums of a few of these are exact.
local total
local function small(text)
  local amount = tonumber(text)
  total = total + math.abs(amount)
  if total > EXACT_MAX then error('inexact', 0) end
  return amount
end
local function load_record(stored)
  if not stored then return { 0, 0, 0, 0, 0, '', false, true } end
  if byte(stored) == 116 then error('inexact', 0) end
  local day, month_spent, month_held, day_spent, day_held = unpack_values('<Bdddd', stored)
  return { day, month_spent, month_held, day_spent, day_held, #stored > 33 and sub(stored, 34) or '', false }
end
local function check_small(amount)
  if amount < 0 or amount > SMALL_MAX then error('inexact', 0) end
end
local function turn_record(record, day)
  local days = record[6]
  if record[1] ~= 0 then
    check_small(record[4])
    check_small(record[5])
    days = days .. pack_values('<Bdd', record[1], record[4], record[5])
  end
  record[1], record[4], record[5], record[6] = day, 0, 0, days
  for at = 1, #days, 17 do
    if byte(days, at) == day then
      local _, spent, held = unpack_values('<Bdd', days, at)
      record[4], record[5], record[6] = spent, held, sub(days, 1, at - 1) .. sub(days, at + 17)
      return
    end
  end
end
local function store_record(record)
  for n = 2, 5 do check_small(record[n]) end
  local front = pack_values('<Bdddd', record[1], record[2], record[3], record[4], record[5])
  return record[6] == '' and front or front .. record[6]
end

${WINDOW_CALLS}${moneyWith(NUMBERS)}${moneyWith(NUMBER_PAIRS)}
${SINGLE_STEPS}-- Runs a part of a workspace, or fails it for all of its entries.
local function attempt(entries, run, ...)
  local before = count
  local is_done, problem = pcall(run, ...)
  if is_done then return end
  for n = before + 1, count do replies[n] = nil end
  count = before
  if problem == 'inexact' then return problem end
  for _ = 1, entries do
    reply('failed')
    reply(type(problem) == 'table' and problem.err or tostring(problem))
  end
end
local at = 6
while ARGV[at] do
  local workspace, entries = ARGV[at], tonumber(ARGV[at + 1])
  local tag, calls = prefix .. '{' .. workspace .. '}', floor(entries / 1000)
  local steps = entries - 1000 * calls
  at = at + 2
  if calls > 0 then attempt(calls, run_windows, tag, at, calls) end
  at = at + 2 * calls
  if steps > ONE_BY_ONE_MAX then
    if attempt(steps, run_money, tag, workspace, at, steps) == 'inexact' then
      attempt(steps, run_large_money, tag, workspace, at, steps)
    end
    for _ = 1, steps do at = at + (ARGV[at] == 'h' and 5 or 3) end
  else
    for _ = 1, steps do
      if attempt(1, run_one, tag, workspace, at) == 'inexact' then attempt(1, run_large_money, tag, workspace, at, 1) end
      at = at + (ARGV[at] == 'h' and 5 or 3)
    end
  end
end
return replies
`);
