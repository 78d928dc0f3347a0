/** Parts of the Lua source of `REQUESTS`, which defines the locals that they use. */

/** The window calls of one workspace. */
export const WINDOW_CALLS = `
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

local function reply_window(remaining, resets, version)
  replies[count + 1], replies[count + 2], replies[count + 3] = remaining, resets, version
  count = count + 3
end
-- The common case: one counted call, a clock that goes forward, and a window with room. Anything else changes nothing.
local function count_call(key, limit, version)
  local length = call('RPUSH', key, now_text)
  local first, renews = now_us, true
  if length > 1 then
    local last = tonumber(call('LINDEX', key, -2))
    first, renews = tonumber(call('LINDEX', key, 0)), floor(last / 1000000) ~= floor(now_us / 1000000)
    -- A busy window loses about one call for each that it gains.
    if last <= now_us and first <= now_us - WINDOW_US then
      call('LPOP', key)
      length, first = length - 1, tonumber(call('LINDEX', key, 0))
    end
    if last > now_us or first <= now_us - WINDOW_US then length = limit + 1 end
  end
  if length > limit then
    call('RPOP', key)
    return false
  end
  -- Once a second: the last call counts for 60 s.
  if renews then call('PEXPIRE', key, 62000) end
  reply_window(limit - length, first + WINDOW_US, version)
  return true
end

local function run_windows(tag, at, calls)
  local version = call('GET', tag .. ':version')
  if not version then
    version = new_version
    call('SET', tag .. ':version', version)
  end
  if calls == 1 then
    local limit = tonumber(ARGV[at + 1])
    if limit and count_call(tag .. ':window:' .. ARGV[at], limit, version) then return end
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
    local remaining, resets = limit - length, now
    if length >= limit then
      remaining = -1
      local leaves = length - limit
      resets = (leaves < window.stored and tonumber(call('LINDEX', key, leaves)) or now) + WINDOW_US
    elseif counts then
      window.length = length + 1
      window.first = window.first or now
      remaining = remaining - 1
      resets = window.first + WINDOW_US
    elseif window.first then resets = window.first + WINDOW_US
    end
    reply_window(remaining, resets, version)
    at = at + 2
  end
  for key, window in pairs(windows) do
    local added = window.length - window.stored
    if added > 0 then
      local time, times = format('%d', window.now), {}
      for n = 1, added do times[n] = time end
      call('RPUSH', key, unpack(times))
      if window.renews then call('PEXPIRE', key, 62000) end
    end
  end
end
`;

/** Money steps that run alone. */
export const SINGLE_STEPS = `
-- One money step: what the general path does, without its tables, for a request that was not seen before or is held, and
-- spenders whose last change was on the same day: other days follow in the record as they are. Otherwise false, and nothing
-- was changed.
local function charged_record(stored, day, nanos, charge)
  if not stored or byte(stored) ~= day then return nil end
  local _, month_spent, month_held, day_spent, day_held = unpack_values('<Bdddd', stored)
  month_spent, day_spent = month_spent + charge, day_spent + charge
  if month_spent > SMALL_MAX or day_spent > SMALL_MAX or month_held < nanos or day_held < nanos then return nil end
  return pack_values('<Bdddd', day, month_spent, month_held - nanos, day_spent, day_held - nanos) .. sub(stored, 34)
end
local function settle_one(tag, workspace, id, charge_text)
  local money = tag .. ':money'
  local head = call('HMGET', money, 'e', 'f', id)
  local known = head[3]
  if head[1] ~= generation or known == false then return false end
  local nanos_text, month, day, key, member = match(known, '^[hsa]|(%d+)|%d+|([^|]*)|(%d+)|([^|]*)|([^|]*)')
  if not nanos_text then return false end
  local free, nanos, charge = tonumber(head[2]), tonumber(nanos_text), tonumber(charge_text)
  if free < 0 or free > EXACT_MAX or nanos > SMALL_MAX or charge > SMALL_MAX or key == '' then return false end
  day = tonumber(day)
  local spend = tag .. ':spend:' .. month
  local of_workspace = charged_record(call('HGET', spend, workspace), day, nanos, charge)
  local of_key = of_workspace and charged_record(call('HGET', spend, key), day, nanos, charge)
  local of_member = of_key and member ~= '' and charged_record(call('HGET', spend, member), day, nanos, charge)
  if not of_key or (member ~= '' and not of_member) then return false end
  if charge > 0 then call('HINCRBY', money, 'b', '-' .. charge_text) end
  if of_member then call('HSET', spend, workspace, of_workspace, key, of_key, member, of_member)
  else call('HSET', spend, workspace, of_workspace, key, of_key) end
  local free_text = format('%d', free + nanos - charge)
  if charge > 0 then call('HSET', money, 'f', free_text, id, 'p')
  else
    call('HSET', money, 'f', free_text)
    call('HDEL', money, id)
  end
  reply('settled')
  return true
end
local function held_record(stored, day, nanos, limits, letter)
  if not stored or byte(stored) ~= day then return nil end
  local _, month_spent, month_held, day_spent, day_held = unpack_values('<Bdddd', stored)
  month_held, day_held = month_held + nanos, day_held + nanos
  if month_held > SMALL_MAX then return nil end
  if limits ~= '' then
    for of, span, most in gmatch(limits, '(%a)(%a)(%d+)') do
      if of == letter and tonumber(most) < (span == 'm' and month_spent + month_held or day_spent + day_held) then
        return nil
      end
    end
  end
  return pack_values('<Bdddd', day, month_spent, month_held, day_spent, day_held) .. sub(stored, 34)
end
local function hold_one(tag, workspace, id, nanos_text, tail, limits)
  local money = tag .. ':money'
  local head = call('HMGET', money, 'e', 'f', id)
  if head[1] ~= generation or head[3] then return false end
  local free, nanos = tonumber(head[2]), tonumber(nanos_text)
  if free < nanos or free > EXACT_MAX then return false end
  local month, day, key, member = match(tail, '^([^|]*)|(%d+)|([^|]*)|([^|]*)')
  day = tonumber(day)
  if key == '' or (member == '' and limits ~= '' and find(limits, 'm[dm]%d')) then return false end
  local spend = tag .. ':spend:' .. month
  local of_workspace = held_record(call('HGET', spend, workspace), day, nanos, limits, 'w')
  local of_key = of_workspace and held_record(call('HGET', spend, key), day, nanos, limits, 'k')
  local of_member = of_key and member ~= '' and held_record(call('HGET', spend, member), day, nanos, limits, 'm')
  if not of_key or (member ~= '' and not of_member) then return false end
  if of_member then call('HSET', spend, workspace, of_workspace, key, of_key, member, of_member)
  else call('HSET', spend, workspace, of_workspace, key, of_key) end
  call('HSET', money, 'f', format('%d', free - nanos), id, 'h|' .. nanos_text .. '|' .. since .. '|' .. tail)
  reply('held')
  return true
end
local function run_one(tag, workspace, at)
  local kind, done = ARGV[at], false
  if kind == 'h' then done = hold_one(tag, workspace, ARGV[at + 1], ARGV[at + 2], ARGV[at + 3], ARGV[at + 4])
  elseif kind == 's' then done = settle_one(tag, workspace, ARGV[at + 1], ARGV[at + 2]) end
  if not done then run_money(tag, workspace, at, 1) end
end

`;
