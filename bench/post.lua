-- wrk script: one POST over and over; the summary goes to stdout as one line of JSON.
-- Arguments after `--`: the file of the body, then header names and values in turn.
function init(args)
  local file = assert(io.open(args[1], "rb"))
  wrk.method = "POST"
  wrk.body = file:read("*a")
  file:close()
  wrk.headers["Content-Type"] = "application/json"
  for i = 2, #args, 2 do
    wrk.headers[args[i]] = args[i + 1]
  end
  request_bytes = wrk.format()
end

function request()
  return request_bytes
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    'SUMMARY {"requests":%d,"durationMicros":%d,"bytes":%d,"badStatus":%d,"socketErrors":%d,"timeouts":%d,"p50Micros":%d,"p99Micros":%d}\n',
    summary.requests, summary.duration, summary.bytes, e.status, e.connect + e.read + e.write, e.timeout,
    latency:percentile(50), latency:percentile(99)))
end
