/** Name of the package that owns the file, from its package.json; put in place by the build and by every runner of sources. */
declare const __PACKAGE_NAME__: string

/** Version of the package that owns the file, from its package.json; put in place by the build and by every runner of sources. */
declare const __PACKAGE_VERSION__: string
