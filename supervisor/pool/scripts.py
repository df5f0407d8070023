"""
What the pool does in Redis at one stroke: Lua, by name. KEYS has the prefix alone.

    <p>:asked, <p>:next           uids that wait for a worker, the oldest first
    <p>:task:<uid>                the sealed cargo, and the host that gets the answer    a day
    <p>:run:<uid>                 who works on it                           10 s, renewed by that process alone
    <p>:begun:<who>               the uid that a worker was given           10 s
    <p>:gone:<uid>                nobody wants it any more                  10 min
    <p>:tries                     deliveries of a uid without an answer     until the answer
    <p>:done:<uid>                the sealed answer                         until it is durable, a day
    <p>:results:<host>, <p>:taking:<host>   uids with an answer for a host; those that it writes down
    <p>:threads, <p>:hosts        who is there                              15 s
"""

from typing import Final

#: Seconds that a lock and a notice live.
RUN_S: Final = 10
THERE_S: Final = 15
DAY_S: Final = 86_400
GONE_S: Final = 600
#: What an answer begins with that no seal has: a worker could not read the cargo.
REFUSED: Final = b"\x00"

#: The lists of what waits: what a person waits for is done first.
QUEUES: Final = ("asked", "next")

#: What every script begins with.
KEY: Final = 'local function key(kind, name) return KEYS[1] .. ":" .. kind .. ":" .. name end\n'

#: uid, host, queue, cargo → new, known or done; the answer goes to who asked last.
OFFER: Final = f"""
local uid, host, queue, cargo = unpack(ARGV)
local task = key("task", uid)
redis.call("del", key("gone", uid))
if redis.call("exists", key("done", uid)) == 1 then
    redis.call("lrem", key("results", host), 0, uid)
    redis.call("rpush", key("results", host), uid)
    return "done"
end
if redis.call("exists", task) == 1 then redis.call("hset", task, "host", host) end
if redis.call("exists", key("run", uid)) == 1 then return "known" end
if redis.call("exists", task) == 1 and redis.call("lpos", KEYS[1] .. ":" .. queue, uid) then return "known" end
redis.call("hset", task, "host", host, "cargo", cargo)
redis.call("expire", task, {DAY_S})
redis.call("rpush", KEYS[1] .. ":" .. queue, uid)
return "new"
"""

#: uids → a sign each: done, runs, waits, or "" for one that is missing.
SIGNS: Final = """
local signs = {}
for n, uid in ipairs(ARGV) do
    local function waits(queue) return redis.call("lpos", KEYS[1] .. ":" .. queue, uid) end
    if redis.call("exists", key("done", uid)) == 1 then signs[n] = "done"
    elseif redis.call("exists", key("run", uid)) == 1 then signs[n] = "runs"
    elseif redis.call("exists", key("task", uid)) == 1 and (waits("next") or waits("asked")) then signs[n] = "waits"
    else signs[n] = "" end
end
return signs
"""

#: uids: what no worker has begun goes, and who has begun stops.
WITHDRAW: Final = f"""
for _, uid in ipairs(ARGV) do
    redis.call("del", key("task", uid))
    if redis.call("exists", key("run", uid)) == 1 then redis.call("set", key("gone", uid), "1", "EX", {GONE_S}) end
end
"""

#: host → the uids that are to be written down, those of before a crash among them.
TAKE: Final = """
local results, taking = key("results", ARGV[1]), key("taking", ARGV[1])
while redis.call("llen", taking) < tonumber(ARGV[2]) do
    if not redis.call("lmove", results, taking, "LEFT", "RIGHT") then break end
end
local found = {}
for _, uid in ipairs(redis.call("lrange", taking, 0, -1)) do
    local data = redis.call("get", key("done", uid))
    if data then
        found[#found + 1] = uid
        found[#found + 1] = data
    else
        redis.call("lrem", taking, 0, uid)
    end
end
return found
"""

#: host, uids: they are durable, and this host needs them no more.
TAKEN: Final = """
for n = 2, #ARGV do
    redis.call("lrem", key("taking", ARGV[1]), 0, ARGV[n])
    redis.call("lrem", key("results", ARGV[1]), 0, ARGV[n])
    redis.call("del", key("done", ARGV[n]))
end
"""

#: who → uid, host, cargo and how often it was begun, of the next task; nothing where none waits. Who asks again, since no reply
#: came, gets the same task.
BEGIN: Final = f"""
local who = ARGV[1]
local function begin(uid)
    local host, cargo = unpack(redis.call("hmget", key("task", uid), "host", "cargo"))
    local holder = redis.call("get", key("run", uid))
    if not cargo or (holder and holder ~= who) or redis.call("exists", key("done", uid)) == 1 then return false end
    local tries = tonumber(redis.call("hget", KEYS[1] .. ":tries", uid)) or 0
    if not holder then
        tries = tries + 1
        redis.call("hset", KEYS[1] .. ":tries", uid, tries)
    end
    redis.call("set", key("run", uid), who, "EX", {RUN_S})
    redis.call("set", key("begun", who), uid, "EX", {RUN_S})
    return {{uid, host, cargo, tries}}
end
local before = redis.call("get", key("begun", who))
local given = before and begin(before)
if given then return given end
for _, queue in ipairs({{"asked", "next"}}) do
    local uid = redis.call("lpop", KEYS[1] .. ":" .. queue)
    while uid do
        given = begin(uid)
        if given then return given end
        uid = redis.call("lpop", KEYS[1] .. ":" .. queue)
    end
end
return false
"""

#: pairs of uid and who → 1 for each that is lost, else 0. Only who holds a task renews its lock.
RENEW: Final = f"""
local found = {{}}
for n = 1, #ARGV, 2 do
    local uid, who = ARGV[n], ARGV[n + 1]
    local holder = redis.call("get", key("run", uid))
    local is_lost = (holder and holder ~= who) or redis.call("exists", key("gone", uid)) == 1
    if not is_lost then redis.call("set", key("run", uid), who, "EX", {RUN_S}) end
    found[#found + 1] = is_lost and 1 or 0
end
return found
"""

#: uid, who, host, answer: delivered once.
DELIVER: Final = f"""
local uid, who, host, answer = unpack(ARGV)
local holder = redis.call("get", key("run", uid))
if holder and holder ~= who then return 0 end
host = redis.call("hget", key("task", uid), "host") or host
redis.call("del", key("task", uid), key("run", uid))
redis.call("hdel", KEYS[1] .. ":tries", uid)
if redis.call("exists", key("gone", uid)) == 1 then return 0 end
if redis.call("set", key("done", uid), answer, "NX", "EX", {DAY_S}) then redis.call("rpush", key("results", host), uid) end
return 1
"""

#: kind (threads or hosts), who, how many (0: it leaves) → the sum of all that are there; what else the hash has, stays.
THERE: Final = f"""
local name, now = KEYS[1] .. ":" .. ARGV[1], tonumber(redis.call("time")[1])
if ARGV[2] ~= "" then
    if tonumber(ARGV[3]) > 0 then redis.call("hset", name, ARGV[2], (now + {THERE_S}) .. " " .. ARGV[3])
    else redis.call("hdel", name, ARGV[2]) end
end
local sum, all = 0, redis.call("hgetall", name)
for n = 1, #all, 2 do
    local until_s, count = string.match(all[n + 1], "^(%d+) (%d+)$")
    if until_s and tonumber(until_s) < now then redis.call("hdel", name, all[n]) else sum = sum + (tonumber(count) or 0) end
end
return sum
"""
