// The SQL console, whose editor is large: loaded when it is opened.
import { later } from '../base/later';
import type { ViewProps } from '../frame/views';
import './sql.css';

export const SqlView = later<ViewProps>(() => import('./console').then((m) => m.Console));
