#include "redis_script.h"

/* Whether the history has the tag ARGV[2] at the revision ARGV[1]; h has epoch, revision and tag. */
#define HAS_HISTORY                                                                           \
	"local function id(r) return string.format('%%.0f-0', struct.unpack('<I8', r)) end\n" \
	"local function strange()\n"                                                          \
	"  if h[1] ~= E then return true end\n"                                               \
	"  if ARGV[1] == h[2] then return ARGV[2] ~= h[3] end\n"                              \
	"  local e = redis.call('XRANGE', KEYS[2], id(ARGV[1]), id(ARGV[1]))\n"               \
	"  return not e[1] or string.sub(e[1][2][2], 9, 16) ~= ARGV[2]\n"                     \
	"end\n"

/*
 * ARGV: 1 and 2 base revision and tag, 3 tag, 4 the box's field, 5 its version, 6 its value, 7 the parts, 8 how many fields follow, 9 how
 * many entries the stream keeps, 10 ... the fields, then the values. The parts are numbers of 2 bytes: for each, how many compares and
 * writes; for each compare, the field and 8 bytes of version; for each write, the field and the value, 0 if it is removed.
 *
 * XADD comes first: a script has no rollback, and an XADD that fails after HSET would leave that applied. The answer of a commit has the
 * entries, or the first of them, that its host had not seen.
 */
const char redis_commit_script[] =
	"#!lua%s\n"
	"local E = '%s'\n"
	"local A = ARGV\n"
	"local count = tonumber(A[8])\n"
	"local f = {'mepoch', 'mrev', 'mtag', A[4]}\n"
	"for i = 1, count do f[i + 4] = A[i + 9] end\n"
	"local h = redis.call('HMGET', KEYS[1], unpack(f))\n" HAS_HISTORY "if strange() then return {2} end\n"
	"local none = string.rep('\\0', 8)\n"
	"local box = h[4]\n"
	"local version = box and string.sub(box, 1, 8) or none\n"
	"if version ~= A[5] then return {1, version, box and string.sub(box, 9) or ''} end\n"
	"local v = {}\n"
	"for i = 1, count do\n"
	"  local x = h[i + 4]\n"
	"  v[i] = x and string.sub(x, 1, 8) or none\n"
	"end\n"
	"local parts, at = A[7], 1\n"
	"local out, writes, final, order = {}, {}, {}, {}\n"
	"while at <= #parts do\n"
	"  local ok, compares, n, i, x = true\n"
	"  compares, n, at = struct.unpack('<I2I2', parts, at)\n"
	"  for c = 1, compares do\n"
	"    i, x, at = struct.unpack('<I2c8', parts, at)\n"
	"    if v[i] ~= x then ok = false end\n"
	"  end\n"
	"  local mark = struct.pack('<I4', #out) .. '\\0\\0\\0\\128'\n"
	"  for w = 1, n do\n"
	"    i, x, at = struct.unpack('<I2I2', parts, at)\n"
	"    if ok then\n"
	"      local key = string.sub(A[i + 9], 2)\n"
	"      local value = x > 0 and A[9 + count + x]\n"
	"      if final[i] == nil then order[#order + 1] = i end\n"
	"      final[i] = value\n"
	"      v[i] = mark\n"
	"      writes[#writes + 1] = struct.pack('<I2I4', #key, value and #value or 4294967295)\n"
	"      writes[#writes + 1] = key\n"
	"      if value then writes[#writes + 1] = value end\n"
	"    end\n"
	"  end\n"
	"  out[#out + 1] = ok and '1' or '0'\n"
	"end\n"
	"local revision = struct.pack('<I8', struct.unpack('<I8', h[2]) + 1)\n"
	"local applied = table.concat(out)\n"
	"local boxed = A[6] .. applied\n"
	"local entry = revision .. A[3] .. h[3] .. table.concat(writes) ..\n"
	"  struct.pack('<I2I4', #A[4] - 1, #boxed) .. string.sub(A[4], 2) .. boxed\n"
	"redis.call('XADD', KEYS[2], 'MAXLEN', '~', A[9], id(revision), 'e', entry)\n"
	"local set, del = {'mrev', revision, 'mtag', A[3]}, {}\n"
	"for _, i in ipairs(order) do\n"
	"  if final[i] then\n"
	"    set[#set + 1] = A[i + 9]\n"
	"    set[#set + 1] = revision .. final[i]\n"
	"  else\n"
	"    del[#del + 1] = A[i + 9]\n"
	"  end\n"
	"end\n"
	"set[#set + 1] = A[4]\n"
	"set[#set + 1] = revision .. boxed\n"
	"set[#set + 1] = 't' .. string.sub(A[4], 2)\n"
	"set[#set + 1] = redis.call('TIME')[1]\n"
	"redis.call('HSET', KEYS[1], unpack(set))\n"
	"if #del > 0 then redis.call('HDEL', KEYS[1], unpack(del)) end\n"
	"local answer = {0, revision, applied}\n"
	"if A[1] ~= h[2] then\n"
	"  local missed = redis.call('XRANGE', KEYS[2], '(' .. id(A[1]), '(' .. id(revision), 'COUNT', 64)\n"
	"  for i, e in ipairs(missed) do answer[i + 3] = e[2][2] end\n"
	"end\n"
	"return answer\n";

const char redis_barrier_script[] = "#!lua%s\n"
				    "local E = '%s'\n"
				    "local h = redis.call('HMGET', KEYS[1], 'mepoch', 'mrev', 'mtag')\n" HAS_HISTORY
				    "if strange() then return {2} end\n"
				    "return {0, h[2], h[3]}\n";

/*
 * ARGV: 1 run_id, 2 the epoch that is distrusted or nothing, 3 a report or nothing, 4 a channel that events are published on or nothing. Asks for every right first: one that is missing would
 * otherwise come to light in the middle of a commit.
 */
const char redis_hello_script[] =
	"#!lua flags=allow-oom\n"
	"local rights = {\n"
	"  {'HSET', KEYS[1], 'm', ''}, {'HDEL', KEYS[1], 'm'}, {'HSCAN', KEYS[1], '0'}, {'XADD', KEYS[2], '*', 'e', ''},\n"
	"  {'XRANGE', KEYS[2], '-', '+'}, {'XREAD', 'STREAMS', KEYS[2], '0'}, {'EVALSHA', '', '1', KEYS[1]}, {'TIME'},\n"
	"}\n"
	"if ARGV[4] ~= '' then rights[#rights + 1] = {'PUBLISH', ARGV[4], ''} end\n"
	"for _, right in ipairs(rights) do\n"
	"  if not redis.acl_check_cmd(unpack(right)) then return {3} end\n"
	"end\n"
	"local h = redis.call('HMGET', KEYS[1], 'mid', 'mepoch', 'mrev', 'mtag', 'mprocess', 'mreports')\n"
	"if not h[1] then return {1} end\n"
	"local open = h[5] == ARGV[1]\n"
	"local reports = h[6] and string.sub(h[6], 1, #ARGV[1]) == ARGV[1] and string.sub(h[6], #ARGV[1] + 1) or ''\n"
	"if open and ARGV[2] == h[2] then\n"
	"  h[2] = string.format('%.0f', tonumber(h[2]) + 1)\n"
	"  open, reports = false, ''\n"
	"  redis.call('HSET', KEYS[1], 'mepoch', h[2], 'mprocess', '', 'mreports', '')\n"
	"end\n"
	"if not open and ARGV[3] ~= '' then\n"
	"  local kept = {}\n"
	"  for at = 1, #reports, 26 do\n"
	"    local one = string.sub(reports, at, at + 25)\n"
	"    if string.sub(one, 1, 2) ~= string.sub(ARGV[3], 1, 2) then kept[#kept + 1] = one end\n"
	"  end\n"
	"  reports = table.concat(kept) .. ARGV[3]\n"
	"  redis.call('HSET', KEYS[1], 'mreports', ARGV[1] .. reports)\n"
	"end\n"
	"return {0, h[1], h[2], h[3], h[4], open and 1 or 0, open and '' or reports}\n";

/* ARGV: 1 run_id, 2 to 4 epoch, revision and tag that the history must end with, 5 the entry, 6 the epoch that it opens or nothing. */
const char redis_append_script[] =
	"#!lua flags=allow-oom\n"
	"local h = redis.call('HMGET', KEYS[1], 'mid', 'mepoch', 'mrev', 'mtag', 'mprocess')\n"
	"if not h[1] or h[5] == ARGV[1] or h[2] ~= ARGV[2] or h[3] ~= ARGV[3] or h[4] ~= ARGV[4] then return {2} end\n"
	"local e, at = ARGV[5], 25\n"
	"local revision = string.sub(e, 1, 8)\n"
	"redis.call('XADD', KEYS[2], string.format('%.0f-0', struct.unpack('<I8', revision)), 'e', e)\n"
	"while at <= #e do\n"
	"  local key, value\n"
	"  key, value, at = struct.unpack('<I2I4', e, at)\n"
	"  local field = 'k' .. string.sub(e, at, at + key - 1)\n"
	"  at = at + key\n"
	"  if value == 4294967295 then\n"
	"    redis.call('HDEL', KEYS[1], field)\n"
	"  else\n"
	"    redis.call('HSET', KEYS[1], field, revision .. string.sub(e, at, at + value - 1))\n"
	"    at = at + value\n"
	"  end\n"
	"end\n"
	"redis.call('HSET', KEYS[1], 'mrev', revision, 'mtag', string.sub(e, 9, 16))\n"
	"if ARGV[6] ~= '' then redis.call('HSET', KEYS[1], 'mepoch', ARGV[6], 'mprocess', ARGV[1]) end\n"
	"return {0}\n";

/* ARGV: 1 run_id, 2 the id, 3 the first entry. */
const char redis_create_script[] =
	"#!lua\n"
	"if redis.call('EXISTS', KEYS[1], KEYS[2]) > 0 then return {1} end\n"
	"redis.call('XADD', KEYS[2], '1-0', 'e', ARGV[3])\n"
	"redis.call('HSET', KEYS[1], 'mid', ARGV[2], 'mepoch', '1', 'mrev', string.sub(ARGV[3], 1, 8),\n"
	"  'mtag', string.sub(ARGV[3], 9, 16), 'mprocess', ARGV[1])\n"
	"return {0}\n";

/* ARGV: 1 the mark of a dump. Goes on only where there is nothing, or what an interrupted restore of the same dump left. */
const char redis_restore_script[] =
	"#!lua\n"
	"local h = redis.call('HMGET', KEYS[1], 'mid', 'mrestore')\n"
	"if h[1] or (h[2] ~= ARGV[1] and redis.call('EXISTS', KEYS[1], KEYS[2]) > 0) then return {1} end\n"
	"redis.call('HSET', KEYS[1], 'mrestore', ARGV[1])\n"
	"return {0}\n";

/* ARGV: 1 the mark, 2 the id, 3 the epoch that has ended, 4 the last entry, without its writes. */
const char redis_restored_script[] =
	"#!lua\n"
	"local h = redis.call('HMGET', KEYS[1], 'mid', 'mrestore')\n"
	"if h[1] or h[2] ~= ARGV[1] then return {1} end\n"
	"local revision = string.sub(ARGV[4], 1, 8)\n"
	"redis.call('XADD', KEYS[2], string.format('%.0f-0', struct.unpack('<I8', revision)), 'e', ARGV[4])\n"
	"redis.call('HSET', KEYS[1], 'mid', ARGV[2], 'mepoch', ARGV[3], 'mrev', revision,\n"
	"  'mtag', string.sub(ARGV[4], 9, 16), 'mprocess', '')\n"
	"redis.call('HDEL', KEYS[1], 'mrestore')\n"
	"return {0}\n";
