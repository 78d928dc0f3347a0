/**
 * Lua for amounts beyond what a number of Lua holds exactly: pairs of numbers, high × 10⁹ + low. Text is decimal.
 */
export const PAIRS = `
local PAIR = 1000000000
local function pair(high, low)
  local carry = math.floor(low / PAIR)
  return { high + carry, low - carry * PAIR }
end
local ZERO = { 0, 0 }
local function pair_of(text)
  local sign, digits = string.match(text, '^(%-?)(%d+)$')
  local high, low = tonumber(string.sub(digits, 1, -10)) or 0, tonumber(string.sub(digits, -9))
  if sign == '-' then return pair(-high, -low) end
  return { high, low }
end
local function pair_sum(one, other) return pair(one[1] + other[1], one[2] + other[2]) end
local function pair_difference(one, other) return pair(one[1] - other[1], one[2] - other[2]) end
local function is_pair_below(one, other) return one[1] < other[1] or (one[1] == other[1] and one[2] < other[2]) end
local function is_pair_zero(amount) return amount[1] == 0 and amount[2] == 0 end
local function pair_text(amount)
  local sign, high, low = '', amount[1], amount[2]
  if high < 0 then
    local positive = pair(-high, -low)
    sign, high, low = '-', positive[1], positive[2]
  end
  if high == 0 then return sign .. string.format('%.0f', low) end
  return sign .. string.format('%.0f%09.0f', high, low)
end
`;

/**
 * Lua for spend records: what one spender spent in a month, and what requests in flight hold. A record is the day in
 * front (1 byte), then spent and held of the month and of that day as doubles, then for every other day its number, spent
 * and held. The day in front is the one that changed last, so that a change need not read the others. Amounts that are
 * negative or above \`SMALL_MAX\` make the record text: 't|' and the same values, separated by '|'.
 *
 * In Lua a record is a table: day, month spent, month held, day spent, day held, other days, 'changed' and 'new'.
 */
const SMALL_MAX = "1125899906842624";

export const PAIR_RECORDS = `
local SMALL_MAX = ${SMALL_MAX}
local function exact_pair(number) return { math.floor(number / PAIR), number % PAIR } end
local function load_pair_record(stored)
  if not stored then return { 0, ZERO, ZERO, ZERO, ZERO, {}, false, true } end
  local record, days = nil, {}
  if string.sub(stored, 1, 1) == 't' then
    local values = {}
    for value in string.gmatch(string.sub(stored, 3), '[^|]+') do values[#values + 1] = value end
    for at = 6, #values, 3 do days[#days + 1] = { tonumber(values[at]), pair_of(values[at + 1]), pair_of(values[at + 2]) } end
    return {
      tonumber(values[1]), pair_of(values[2]), pair_of(values[3]), pair_of(values[4]), pair_of(values[5]), days, false, false,
    }
  end
  local day, month_spent, month_held, day_spent, day_held = struct.unpack('<Bdddd', stored)
  for at = 34, #stored, 17 do
    local other, spent, held = struct.unpack('<Bdd', stored, at)
    days[#days + 1] = { other, exact_pair(spent), exact_pair(held) }
  end
  return {
    day, exact_pair(month_spent), exact_pair(month_held), exact_pair(day_spent), exact_pair(day_held), days, false, false,
  }
end
local function turn_pair_record(record, day)
  if record[1] == day then return end
  local days = record[6]
  if record[1] ~= 0 then days[#days + 1] = { record[1], record[4], record[5] } end
  record[1], record[4], record[5] = day, ZERO, ZERO
  for n, other in ipairs(days) do
    if other[1] == day then
      record[4], record[5] = other[2], other[3]
      table.remove(days, n)
      return
    end
  end
end
local function store_pair_record(record)
  local values, are_small = {}, true
  local function put(amount)
    local number = amount[1] * PAIR + amount[2]
    if number < 0 or number > SMALL_MAX then are_small = false end
    values[#values + 1] = amount
  end
  for n = 2, 5 do put(record[n]) end
  for _, other in ipairs(record[6]) do
    put(other[2])
    put(other[3])
  end
  local form = are_small and function(amount) return amount[1] * PAIR + amount[2] end or pair_text
  for n, amount in ipairs(values) do values[n] = form(amount) end
  local parts = {}
  if are_small then parts[1] = struct.pack('<Bdddd', record[1], unpack(values, 1, 4))
  else parts[1] = 't|' .. record[1] .. '|' .. table.concat(values, '|', 1, 4) end
  for n, other in ipairs(record[6]) do
    local spent, held = values[3 + 2 * n], values[4 + 2 * n]
    parts[#parts + 1] = are_small and struct.pack('<Bdd', other[1], spent, held)
      or '|' .. other[1] .. '|' .. spent .. '|' .. held
  end
  return table.concat(parts)
end
`;
