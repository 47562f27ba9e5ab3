// The page of the collector. See docs/page.md for who uses it, docs/ARCHITECTURE.md for how it is
// built.
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import { takeToken } from './base/ask';
import { Frame } from './frame/frame';

takeToken();
render(<Frame />, document.getElementById('page')!);
