// Bundles the page and writes it as C: node build.mjs SOURCE OUT. Called by CMakeLists.txt in a
// folder that has node_modules and a link `source` to this one, so that nothing is written beside
// the sources.
//
// OUT/assets.c has each file once, compressed by gzip, under a name with a hash of its contents
// (but for the page itself, which is "/"). OUT/files has the same as files, for who looks.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, extname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const FIRST_MAX_BYTES = 150 * 1024; // compressed, of all that the first view loads
const TYPES = {
	'.html': 'text/html; charset=utf-8',
	'.js': 'text/javascript; charset=utf-8',
	'.css': 'text/css; charset=utf-8',
};
const [source, out] = process.argv.slice(2);
const files = join(out, 'files');

rmSync(files, { recursive: true, force: true });
mkdirSync(files, { recursive: true });

const result = await build({
	entryPoints: [join(source, 'main.tsx'), join(source, 'flame', 'worker.ts')],
	outdir: files,
	bundle: true,
	splitting: true,
	format: 'esm',
	target: 'es2022',
	minify: true,
	preserveSymlinks: true,
	jsx: 'automatic',
	jsxImportSource: 'preact',
	entryNames: '[name]-[hash]',
	chunkNames: '[name]-[hash]',
	assetNames: '[name]-[hash]',
	legalComments: 'none',
	metafile: true,
	logLevel: 'warning',
});

// The flame graph as a file of its own (collector/page/page.h): script and style stand in it, and
// its policy allows these two and nothing else.
async function buildAlone() {
	const { outputFiles } = await build({
		entryPoints: [join(source, 'flame', 'alone.tsx')],
		outdir: files,
		write: false,
		bundle: true,
		format: 'iife',
		target: 'es2022',
		minify: true,
		preserveSymlinks: true,
		jsx: 'automatic',
		jsxImportSource: 'preact',
		legalComments: 'none',
		logLevel: 'warning',
	});
	const text = (extension) => outputFiles.find((f) => f.path.endsWith(extension)).text.trim();
	const [script, style] = [text('.js'), text('.css')];
	if (/<\/script|<!--/i.test(script) || /<\/style/i.test(style))
		throw new Error('the script of flame/alone.tsx would end where it should not');
	const hash = (content) => `'sha256-${createHash('sha256').update(content).digest('base64')}'`;
	const parts = {
		policy:
			`default-src 'none'; script-src ${hash(script)}; style-src ${hash(style)}; ` +
			`img-src data: blob:; base-uri 'none'; form-action 'none'`,
		style,
		script,
	};
	return readFileSync(join(source, 'alone.html'), 'utf8').replace(
		/{{(policy|style|script)}}/g,
		(_, name) => parts[name],
	);
}
const alone = gzipSync(await buildAlone(), { level: 9 });

const outputs = result.metafile.outputs;
const entryOf = (file) =>
	Object.keys(outputs).find((name) => outputs[name].entryPoint?.endsWith(file));
const entry = entryOf('main.tsx');
const worker = entryOf('worker.ts');
const style = outputs[entry].cssBundle;
const chunks = outputs[entry].imports
	.filter((i) => i.kind === 'import-statement')
	.map((i) => i.path);

// The page itself, with what it loads first.
const html = readFileSync(join(source, 'index.html'), 'utf8')
	.replace('{{style}}', `page/${basename(style)}`)
	.replace('{{worker}}', `page/${basename(worker)}`)
	.replace('{{script}}', `page/${basename(entry)}`)
	.replace(
		'{{chunks}}',
		chunks.map((c) => `<link rel="modulepreload" href="page/${basename(c)}">`).join(''),
	);
writeFileSync(join(files, 'index.html'), html);

const assets = [join(files, 'index.html'), ...Object.keys(outputs)].map((path) => {
	const bytes = readFileSync(path);
	return {
		name: basename(path) === 'index.html' ? '' : basename(path),
		type: TYPES[extname(path)],
		etag: createHash('sha256').update(bytes).digest('hex').slice(0, 16),
		size: bytes.length,
		packed: gzipSync(bytes, { level: 9 }),
		first:
			path.endsWith('index.html') ||
			path === entry ||
			path === worker ||
			path === style ||
			chunks.includes(path),
	};
});

const bytesOf = (packed) =>
	packed
		.toString('hex')
		.replace(/../g, '0x$&,')
		.replace(/.{100}/g, '$&\n');
let c = '/* Written by collector/page/build.mjs. */\n#include "collector/page/page.h"\n\n';
assets.forEach(
	(a, i) => (c += `static const unsigned char bytes_${i}[] = {\n${bytesOf(a.packed)}};\n`),
);
c += '\nconst struct page_asset page_assets[] = {\n';
assets.forEach(
	(a, i) =>
		(c +=
			`\t{"${a.name}", "${a.type}", "\\"${a.etag}\\"", bytes_${i}, sizeof(bytes_${i}), ` +
			`${a.size}},\n`),
);
c += `};\nconst size_t page_asset_count = ${assets.length};\n`;
c += `static const unsigned char bytes_alone[] = {\n${bytesOf(alone)}};\n`;
c +=
	'const struct page_asset page_alone = {"", "text/html; charset=utf-8", "", ' +
	'bytes_alone, sizeof(bytes_alone), 0};\n';
writeFileSync(join(out, 'assets.c'), c);

const first = assets.filter((a) => a.first).reduce((sum, a) => sum + a.packed.length, 0);
const all = assets.reduce((sum, a) => sum + a.packed.length, 0);
console.log(
	`the page: ${(first / 1024).toFixed(1)} KiB at first, ${(all / 1024).toFixed(1)} KiB ` +
		`in all, ${(alone.length / 1024).toFixed(1)} KiB of each flame graph that is a file, ` +
		'compressed',
);
if (first > FIRST_MAX_BYTES) {
	console.error(
		`the first view loads more than ${FIRST_MAX_BYTES / 1024} KiB: load what is not ` +
			'always needed by import()',
	);
	process.exit(1);
}
