-- Other work for lua: patterns, coroutines, closures in closures, errors: other.lua ROUNDS
local function words(text)
	return coroutine.wrap(function()
		for word in text:gmatch("%a+") do coroutine.yield(word) end
	end)
end

local function chain(depth, f)
	if depth == 0 then return f end
	return chain(depth - 1, function(x) return f(x .. depth % 10) end)
end

local function walk(node, depth)
	if depth == 0 then
		coroutine.yield(table.concat(node, "/"))
		return
	end
	for i = 1, 3 do
		node[#node + 1] = "n" .. i
		walk(node, depth - 1)
		node[#node] = nil
	end
end

local line = "The board {name} in the cellar has {count} sensors, and {name} says so: 12.5 K, 13.25 K; "
local sum = 0
for round = 1, tonumber(arg[1]) do
	local values = setmetatable({ name = "board-" .. round }, { __index = function(_, key) return key .. round end })
	local text = line:rep(8):gsub("{(%a+)}", values):gsub("%d+%.%d+", function(n) return n * 2 .. "" end)
	local seen = {}
	for word in words(text) do seen[word:upper()] = (seen[word:upper()] or "") .. word:sub(1, 1) end
	for _, letters in pairs(seen) do sum = sum + #letters end
	sum = sum + #chain(20, function(x) return x:reverse() end)("x" .. round)
	for path in coroutine.wrap(function() walk({}, 4) end) do sum = sum + #path end
	local _, message = pcall(function() error({ text = "no such board: " .. round }) end)
	sum = sum + #message.text
end
print(sum)
