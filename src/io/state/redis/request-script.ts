import { luaScript } from "./lua-script.ts";

/**
 * Everything requests need of the shared state, for many requests of many workspaces in one call: calls counted in rate
 * windows, holds and settlements. The effect is that of one script for each, in the order of the call.
 *
 * ARGV: time, instance, then for every workspace: key prefix, workspace, generation, version for a workspace without one,
 * number of window calls, number of money steps, and these:
 *   window call:  key, limit; 'p' before the limit: the call is not counted
 *   hold:         'h', request, nanos, 'month|day|key|member|instance', limits as 'spender|span|nanos;' with the span d or m
 *   settlement:   's' or, when the hold may still arrive, 'd', request, charge
 * The reply is flat: for a window call allowed, remaining, reset, wait, version; for a hold or settlement its result, for
 * 'insufficient' also the free amount, for 'limit' its index, the spent and the held amount. A workspace that failed has
 * 'failed' and the reason for each entry instead, and nothing of it was changed.
 *
 * A sliding 60-second window is a list of call times in microseconds of Redis' clock, oldest first. When that clock is set
 * back, time stands still until it catches up; when it is set back by more than a window, the window starts over.
 *
 * Money is read first, computed here and written at the end, so that a failure writes nothing. Amounts are 64-bit
 * integers. They are computed as numbers while the sum of all is small enough to be exact, otherwise as pairs.
 *
 * With `#!lua`, Redis refuses the whole script instead of a part of it when its memory is full.
 */
export const REQUESTS = luaScript(`#!lua
local WINDOW_US, EXACT_MAX, PAIR = 60000000, 9e15, 1000000000
local call, floor, format, match, sub = redis.call, math.floor, string.format, string.match, string.sub
local now_us
if ARGV[1] ~= '' then now_us = ARGV[1] * 1000
else
  local time = call('TIME')
  now_us = time[1] * 1000000 + time[2]
end
local since = format('%.0f', floor(now_us / 1000))
local instance = ARGV[2]
local replies, count = {}, 0
local function reply(value)
  count = count + 1
  replies[count] = value
end

local total
local numbers = {
  zero = 0,
  parse = function(text)
    local amount = tonumber(text)
    total = total + math.abs(amount)
    if total > EXACT_MAX then error('inexact', 0) end
    return amount
  end,
  add = function(one, other) return one + other end,
  subtract = function(one, other) return one - other end,
  is_below = function(one, other) return one < other end,
  is_zero = function(amount) return amount == 0 end,
  text = function(amount) return format('%.0f', amount) end,
}
local function pair(high, low)
  local carry = floor(low / PAIR)
  return { high + carry, low - carry * PAIR }
end
local number_pairs = {
  zero = { 0, 0 },
  parse = function(text)
    local sign, digits = match(text, '^(%-?)(%d+)$')
    local high, low = tonumber(sub(digits, 1, -10)) or 0, tonumber(sub(digits, -9))
    if sign == '-' then return pair(-high, -low) end
    return { high, low }
  end,
  add = function(one, other) return pair(one[1] + other[1], one[2] + other[2]) end,
  subtract = function(one, other) return pair(one[1] - other[1], one[2] - other[2]) end,
  is_below = function(one, other) return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2]) end,
  is_zero = function(amount) return amount[1] == 0 and amount[2] == 0 end,
  text = function(amount)
    local sign, high, low = '', amount[1], amount[2]
    if high < 0 then
      local positive = pair(-high, -low)
      sign, high, low = '-', positive[1], positive[2]
    end
    if high == 0 then return sign .. format('%.0f', low) end
    return sign .. format('%.0f%09.0f', high, low)
  end,
}

local function open_window(key)
  local now, first = now_us, nil
  local stored = call('LLEN', key)
  if stored == 0 then return { now = now, stored = 0, length = 0, renews = true } end
  local last = tonumber(call('LINDEX', key, -1))
  if last > now + WINDOW_US then
    call('DEL', key)
    return { now = now, stored = 0, length = 0, renews = true }
  end
  local renews = floor(last / 1000000) ~= floor(now / 1000000)
  if last > now then now = last end
  first = tonumber(call('LINDEX', key, 0))
  while first and first <= now - WINDOW_US do
    local oldest = call('LRANGE', key, 0, 31)
    local gone = 1
    while oldest[gone + 1] and tonumber(oldest[gone + 1]) <= now - WINDOW_US do gone = gone + 1 end
    call('LPOP', key, gone)
    stored = stored - gone
    first = stored > 0 and tonumber(oldest[gone + 1] or call('LINDEX', key, 0)) or nil
  end
  return { now = now, first = first, stored = stored, length = stored, renews = renews or stored == 0 }
end

local function run_windows(tag, new_version, at, calls)
  local version = call('GET', tag .. ':version')
  if not version then
    version = new_version
    call('SET', tag .. ':version', version)
  end
  local windows = {}
  for _ = 1, calls do
    local key, limit, counts = tag .. ':window:' .. ARGV[at], tonumber(ARGV[at + 1]), true
    if not limit then limit, counts = tonumber(sub(ARGV[at + 1], 2)), false end
    local window = windows[key]
    if not window then
      window = open_window(key)
      windows[key] = window
    end
    local now, length = window.now, window.length
    local allowed, remaining, resets = 1, limit - length, now
    if length >= limit then
      allowed, remaining = 0, 0
      local leaves = length - limit
      resets = (leaves < window.stored and tonumber(call('LINDEX', key, leaves)) or now) + WINDOW_US
    elseif counts then
      window.length = length + 1
      window.first = window.first or now
      remaining = remaining - 1
      resets = window.first + WINDOW_US
    elseif window.first then resets = window.first + WINDOW_US
    end
    reply(allowed)
    reply(remaining)
    reply(math.ceil(resets / 1000))
    reply(math.ceil((resets - now) / 1000))
    reply(version)
    at = at + 2
  end
  for key, window in pairs(windows) do
    local added = window.length - window.stored
    if added > 0 then
      local time, times = format('%.0f', window.now), {}
      for n = 1, added do times[n] = time end
      call('RPUSH', key, unpack(times))
      -- Once a second: the last call counts for 60 s.
      if window.renews then call('PEXPIRE', key, 62000) end
    end
  end
end

-- What one workspace does with money. A spend is what the requests of one month, day, key and member add to the counters
-- held and spent; a limited counter follows those that it counts.
local parse, add, subtract, is_below, is_zero, text_of, zero
local spent_prefix, workspace, free, free_before, charged
local holds, is_paid, changed_ids, newly_paid, spends, counters
local function counts(counter, spend)
  if counter.month ~= spend.month or (counter.day and counter.day ~= spend.day) then return false end
  local spender = counter.spender
  return spender == workspace or spender == spend.key or spender == spend.member
end
local function follow(spend, counter)
  local followers = spend.followers
  if followers then followers[#followers + 1] = counter else spend.followers = { counter } end
end
local function spend_of(tail)
  local spend = spends[tail]
  if spend then return spend end
  local month, day, key, member = match(tail, '^([^|]*)|([^|]*)|([^|]*)|([^|]*)|')
  spend = { month = month, day = day, key = key, member = member, held = zero, spent = zero }
  spends[tail] = spend
  if counters then
    for _, counter in pairs(counters) do
      if counts(counter, spend) then follow(spend, counter) end
    end
  end
  return spend
end
local function counter_of(spender, span, spend)
  local day = span == 'd' and spend.day or nil
  local id = spend.month .. '|' .. (day or '') .. '|' .. spender
  counters = counters or {}
  local counter = counters[id]
  if counter then return counter end
  local name = day and spender .. ':' .. day or spender
  local stored = call('HMGET', spent_prefix .. spend.month, name .. ':s', name .. ':h')
  counter = { month = spend.month, day = day, spender = spender }
  counter.spent, counter.held = parse(stored[1] or '0'), parse(stored[2] or '0')
  counters[id] = counter
  for _, known in pairs(spends) do
    if counts(counter, known) then
      counter.spent, counter.held = add(counter.spent, known.spent), add(counter.held, known.held)
      follow(known, counter)
    end
  end
  return counter
end
local function limits_of(spend, limits_text)
  local limits = spend.limits and spend.limits[limits_text]
  if limits then return limits end
  limits = {}
  for spender, span, nanos in string.gmatch(limits_text, '([^|]*)|(%a)|(%d+);') do
    limits[#limits + 1] = { counter = counter_of(spender, span, spend), nanos = parse(nanos) }
  end
  spend.limits = spend.limits or {}
  spend.limits[limits_text] = limits
  return limits
end
local TOMBSTONE = 't|0|' .. since .. '|||||'
local function put_hold(id, hold)
  holds[id] = hold
  changed_ids[#changed_ids + 1] = id
end
local function run_hold(id, nanos_text, tail, limits_text)
  local known = holds[id]
  local kind = known and sub(known, 1, 1)
  if kind == 't' then return reply('late') end
  -- A hold of an earlier run continues from now on. A swept one holds nothing and is requested like a new one.
  if kind == 'h' then
    local before, spenders = match(known, '^h|(%d+)|%d+|([^|]*|[^|]*|[^|]*|[^|]*|)')
    put_hold(id, 'h|' .. before .. '|' .. since .. '|' .. spenders .. instance)
  end
  if kind and kind ~= 's' then return reply('held') end
  -- Already charged by another run: nothing is charged twice.
  if is_paid[id] then return reply('late') end
  local nanos = parse(nanos_text)
  if is_below(free, nanos) then
    reply('insufficient')
    return reply(text_of(free))
  end
  local spend = spend_of(tail)
  if limits_text ~= '' then
    for n, limit in ipairs(limits_of(spend, limits_text)) do
      local counter = limit.counter
      if is_below(limit.nanos, add(add(counter.spent, counter.held), nanos)) then
        reply('limit')
        reply(n - 1)
        reply(text_of(counter.spent))
        return reply(text_of(counter.held))
      end
    end
  end
  free, spend.held = subtract(free, nanos), add(spend.held, nanos)
  if spend.followers then
    for _, counter in ipairs(spend.followers) do counter.held = add(counter.held, nanos) end
  end
  put_hold(id, 'h|' .. nanos_text .. '|' .. since .. '|' .. tail)
  reply('held')
end
local function run_settlement(paid_key, id, charge_text, may_arrive)
  local hold = holds[id]
  if not hold or sub(hold, 1, 1) == 't' then
    if is_paid[id] == nil then is_paid[id] = call('HEXISTS', paid_key, id) == 1 end
    if is_paid[id] then return reply('paid') end
    if may_arrive then put_hold(id, TOMBSTONE) end
    return reply('none')
  end
  local nanos_text, tail = match(hold, '^%a|(%d+)|%d+|(.*)$')
  local nanos, charge, spend = parse(nanos_text), parse(charge_text), spend_of(tail)
  put_hold(id, may_arrive and TOMBSTONE)
  free, charged = subtract(add(free, nanos), charge), add(charged, charge)
  spend.held, spend.spent = subtract(spend.held, nanos), add(spend.spent, charge)
  if spend.followers then
    for _, counter in ipairs(spend.followers) do
      counter.held, counter.spent = subtract(counter.held, nanos), add(counter.spent, charge)
    end
  end
  if charge_text ~= '0' then
    is_paid[id] = true
    newly_paid = newly_paid or {}
    newly_paid[#newly_paid + 1] = id
    newly_paid[#newly_paid + 1] = '1'
  end
  reply('settled')
end
local function read_entries(key, ids, found)
  if #ids == 1 then found[ids[1]] = call('HGET', key, ids[1])
  else
    for n, value in ipairs(call('HMGET', key, unpack(ids))) do found[ids[n]] = value end
  end
end
local function write_amounts(key, spender, day, kind, text)
  if spender == '' then return end
  call('HINCRBY', key, spender .. ':' .. day .. kind, text)
  return call('HINCRBY', key, spender .. kind, text)
end
local function write_spend(spend, kind, nanos)
  if is_zero(nanos) then return end
  local key, day, text = spent_prefix .. spend.month, spend.day, text_of(nanos)
  local sum = write_amounts(key, workspace, day, kind, text)
  write_amounts(key, spend.key, day, kind, text)
  write_amounts(key, spend.member, day, kind, text)
  -- The key may be new. It outlasts the month and the one after it.
  if sum == tonumber(text) and call('PTTL', key) == -1 then call('PEXPIRE', key, 6048000000) end
end
local function write_holds(holds_key, paid_key)
  local put, removed
  for _, id in ipairs(changed_ids) do
    if holds[id] then
      put = put or {}
      put[#put + 1] = id
      put[#put + 1] = holds[id]
    else
      removed = removed or {}
      removed[#removed + 1] = id
    end
  end
  if put then call('HSET', holds_key, unpack(put)) end
  if newly_paid then call('HSET', paid_key, unpack(newly_paid)) end
  if removed then call('HDEL', holds_key, unpack(removed)) end
end
local function run_money(arithmetic, tag, workspace_id, generation, from, steps)
  parse, add, subtract, text_of = arithmetic.parse, arithmetic.add, arithmetic.subtract, arithmetic.text
  is_below, is_zero, zero = arithmetic.is_below, arithmetic.is_zero, arithmetic.zero
  total, spent_prefix, workspace = 0, tag .. ':spent:', workspace_id
  local wallet, holds_key, paid_key = tag .. ':wallet', tag .. ':holds', tag .. ':paid'
  local head = call('HMGET', wallet, 'e', 'f')
  if head[1] ~= generation then
    for _ = 1, steps do reply('opening') end
    return
  end
  free, charged = parse(head[2]), zero
  free_before = free
  local ids, held_ids, at = {}, nil, from
  for step = 1, steps do
    ids[step] = ARGV[at + 1]
    if ARGV[at] == 'h' then
      held_ids = held_ids or {}
      held_ids[#held_ids + 1] = ARGV[at + 1]
      at = at + 5
    else at = at + 3 end
  end
  holds, is_paid, changed_ids, newly_paid, spends, counters = {}, {}, {}, nil, {}, nil
  read_entries(holds_key, ids, holds)
  if held_ids then read_entries(paid_key, held_ids, is_paid) end
  at = from
  for step = 1, steps do
    local kind = ARGV[at]
    if kind == 'h' then
      run_hold(ids[step], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
      at = at + 5
    else
      run_settlement(paid_key, ids[step], ARGV[at + 2], kind == 'd')
      at = at + 3
    end
  end
  local freed = subtract(free, free_before)
  if not is_zero(freed) then call('HINCRBY', wallet, 'f', text_of(freed)) end
  if not is_zero(charged) then call('HINCRBY', wallet, 'b', text_of(subtract(zero, charged))) end
  for _, spend in pairs(spends) do
    write_spend(spend, ':h', spend.held)
    write_spend(spend, ':s', spend.spent)
  end
  write_holds(holds_key, paid_key)
end

-- Runs a part of a workspace, or fails it for all of its entries.
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
local at = 3
while ARGV[at] do
  local tag, workspace, generation, new_version, calls, steps = unpack(ARGV, at, at + 5)
  calls, steps, at = tonumber(calls), tonumber(steps), at + 6
  if calls > 0 then attempt(calls, run_windows, tag, new_version, at, calls) end
  at = at + 2 * calls
  if steps > 0 then
    if attempt(steps, run_money, numbers, tag, workspace, generation, at, steps) == 'inexact' then
      attempt(steps, run_money, number_pairs, tag, workspace, generation, at, steps)
    end
  end
  for _ = 1, steps do at = at + (ARGV[at] == 'h' and 5 or 3) end
end
return replies
`);
