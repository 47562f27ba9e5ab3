-- Work for lua: tables, closures, strings and a collector that runs in between, the same every time.
local function tree(depth)
	local node = { name = ("n"):rep(depth) .. depth }
	if depth > 0 then
		node.left, node.right = tree(depth - 1), tree(depth - 1)
	end
	return node
end

local function count(node)
	return node and 1 + count(node.left) + count(node.right) or 0
end

local parts, sum = {}, 0
for i = 1, 20000 do
	parts[#parts + 1] = string.format("%05d:%s", i, ("ab"):rep(i % 17))
	local add = function(x) return x + i end
	sum = sum + add(i)
end
print(count(tree(12)), #table.concat(parts, ","), sum)
os.exit(3, true)
