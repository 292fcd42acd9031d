-- What wrk sends: a POST with an idempotency key, by KEYS:
--   new    a key that no other request of any run has (PREFIX differs in each run)
--   pairs  each key twice in a row
--   COUNT  so many known keys (PREFIX0, PREFIX1 …), one after the other from the FROMth on, and again from the first: what
--          holds fewer of them, and forgets the one that was used longest ago, never has the next
-- with the header lines in MORE, and one line of JSON at the end.

local keys, prefix, path = os.getenv("KEYS"), os.getenv("PREFIX"), os.getenv("TARGET")
local body, more = os.getenv("BODY"), os.getenv("MORE")
local known = tonumber(keys)
local from = tonumber(os.getenv("FROM"))
local sent = 0
local before = "POST " .. path .. " HTTP/1.1\r\nHost: api.example.com\r\nContent-Type: application/json\r\n" ..
  "Authorization: Bearer sk_test_4eC39HqLyjWDarjtT1zdp7dc\r\nUser-Agent: wrk\r\nAccept: */*\r\n" .. more ..
  "Content-Length: " .. #body .. "\r\nIdempotency-Key: "
local after = "\r\n\r\n" .. body

function request()
  local number
  if known then
    number = (from + sent) % known
  else
    number = keys == "pairs" and math.floor(sent / 2) or sent
  end
  sent = sent + 1
  return before .. prefix .. number .. after
end

function done(summary, latency)
  local errors = summary.errors
  local broken = errors.connect + errors.read + errors.write + errors.timeout
  io.write(string.format(
    '\n{"requests":%d,"seconds":%f,"not2xx":%d,"broken":%d,"p50Ms":%f,"p99Ms":%f,"longestMs":%f}\n',
    summary.requests, summary.duration / 1e6, errors.status, broken,
    latency:percentile(50) / 1e3, latency:percentile(99) / 1e3, latency.max / 1e3))
end
