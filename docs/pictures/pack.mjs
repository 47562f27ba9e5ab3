// Makes pictures of the page small: node pack.mjs FROM.png TO.png. At most 256 colours, which screens of text and plots have, nearly.
import { readFileSync, writeFileSync } from 'node:fs';
import { deflateSync, inflateSync } from 'node:zlib';

const COLOURS = 256;
const CRC = Uint32Array.from({ length: 256 }, (_, n) => {
	for (let k = 0; k < 8; k++) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
	return n >>> 0;
});

/** Pixels of a PNG as Chromium writes it: 8 bits, RGB or RGBA, not interlaced. */
function read(file) {
	const png = readFileSync(file);
	const parts = [];
	for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
		if (png.toString('latin1', at + 4, at + 8) === 'IDAT') parts.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)));
	const [width, height, bytes] = [png.readUInt32BE(16), png.readUInt32BE(20), { 2: 3, 6: 4 }[png[25]]];
	const raw = inflateSync(Buffer.concat(parts));
	const row = width * bytes;
	const out = Buffer.alloc(row * height);
	const nearest = (a, b, c) => {
		const [p, q, r] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
		return p <= q && p <= r ? a : q <= r ? b : c;
	};
	for (let y = 0; y < height; y++)
		for (let x = 0; x < row; x++) {
			const left = x < bytes ? 0 : out[y * row + x - bytes];
			const up = y ? out[(y - 1) * row + x] : 0;
			const corner = y && x >= bytes ? out[(y - 1) * row + x - bytes] : 0;
			const guess = [0, left, up, (left + up) >> 1, nearest(left, up, corner)][raw[y * (row + 1)]];
			out[y * row + x] = raw[y * (row + 1) + 1 + x] + guess;
		}
	const pixels = new Uint32Array(width * height);
	for (let i = 0; i < pixels.length; i++) pixels[i] = (out[i * bytes] << 16) | (out[i * bytes + 1] << 8) | out[i * bytes + 2];
	return { width, height, pixels };
}

/** The most frequent colours; what is like one of them already is no other. */
function palette(pixels) {
	const counts = new Map();
	for (const p of pixels) counts.set(p, (counts.get(p) ?? 0) + 1);
	const often = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
	for (let apart = often.length > COLOURS ? 24 : 0; ; apart = Math.ceil(apart * 1.5)) {
		const chosen = [];
		for (const colour of often) if (chosen.length <= COLOURS && chosen.every((c) => distance(c, colour) >= apart)) chosen.push(colour);
		if (chosen.length <= COLOURS) return { chosen, often };
	}
}

function distance(a, b) {
	const part = (shift) => ((a >> shift) & 255) - ((b >> shift) & 255);
	return part(16) ** 2 + part(8) ** 2 + part(0) ** 2;
}

function chunk(name, data) {
	const body = Buffer.concat([Buffer.from(name, 'latin1'), data]);
	const size = Buffer.alloc(4);
	size.writeUInt32BE(data.length);
	let crc = ~0;
	for (const byte of body) crc = CRC[(crc ^ byte) & 255] ^ (crc >>> 8);
	const end = Buffer.alloc(4);
	end.writeUInt32BE(~crc >>> 0);
	return Buffer.concat([size, body, end]);
}

const [from, to] = process.argv.slice(2);
const { width, height, pixels } = read(from);
const { chosen, often } = palette(pixels);
const index = new Map(often.map((colour) => [colour, chosen.reduce((best, c, i) => (distance(c, colour) < distance(chosen[best], colour) ? i : best), 0)]));
const rows = Buffer.alloc((width + 1) * height);
for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) rows[y * (width + 1) + 1 + x] = index.get(pixels[y * width + x]);
const head = Buffer.alloc(13);
head.writeUInt32BE(width, 0);
head.writeUInt32BE(height, 4);
head.set([8, 3, 0, 0, 0], 8);
writeFileSync(
	to,
	Buffer.concat([
		Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
		chunk('IHDR', head),
		chunk('PLTE', Buffer.from(chosen.flatMap((c) => [c >> 16, (c >> 8) & 255, c & 255]))),
		chunk('IDAT', deflateSync(rows, { level: 9 })),
		chunk('IEND', Buffer.alloc(0)),
	]),
);
