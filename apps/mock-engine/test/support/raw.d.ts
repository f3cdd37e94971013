/// <reference types="@router/tooling/raw-files" />
