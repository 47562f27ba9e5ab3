-- Work for lua: tables, closures, strings, the same every time: work.lua ROUNDS
local function tree(depth)
	local node = { name = ("n"):rep(depth) .. depth }
	if depth > 0 then
		node.left, node.right = tree(depth - 1), tree(depth - 1)
	end
	return node
end

local function count(node)
	return node and 1 + #node.name + count(node.left) + count(node.right) or 0
end

local sum = 0
for round = 1, tonumber(arg[1]) do
	local parts, adders = {}, {}
	for i = 1, 2000 do
		parts[#parts + 1] = string.format("%05d:%s", i * round, ("ab"):rep(i % 17))
		adders[#adders + 1] = function(x) return x + i end
	end
	for i = 1, #adders do sum = adders[i](sum) end
	sum = sum + count(tree(9)) + #table.concat(parts, ",")
end
print(sum)
