# Copies heapcast.proto with the fields marked `column` declared as bytes. A packed repeated varint and bytes are the
# same on the wire, so the program writes and reads columns in place instead of through arrays of numbers.
file(READ ${INPUT} text)
string(REGEX REPLACE "repeated (uint64|sint64) ([a-z_]+ = [0-9]+;[^\n]*// column)" "bytes \\2" text "${text}")
file(WRITE ${OUTPUT} "${text}")
